//! HTTP of backends, in a network namespace where every address in the world is this test's own listener and names are
//! what this test says. What got through is what a listener saw, not what the host says of itself; nothing leaves.

mod answer;
mod lives;
mod matrix;
mod net;
mod uses;
