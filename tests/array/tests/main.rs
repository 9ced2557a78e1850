//! The array over real sockets, in this process and, where it is killed, in one of its own.

#[cfg(test)]
mod crash;
#[cfg(test)]
mod data;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod objects;
#[cfg(test)]
mod pairs;
#[cfg(test)]
mod world;
