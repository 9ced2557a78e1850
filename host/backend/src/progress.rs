//! What is said while a component is compiled: nothing for the first seconds, which most take, and then a line now and
//! then, so that nobody thinks that the host hangs. Knows nothing of compiling.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// The target of these lines. They are logged wherever `info` of it is, in commands that print little, too.
pub const TARGET: &str = "progress";

/// When the first line comes, and how long after each the next one.
#[derive(Debug, Clone, Copy)]
struct Pace {
    first: Duration,
    then: Duration,
}

const PACE: Pace = Pace { first: Duration::from_secs(2), then: Duration::from_secs(10) };

/// Waits for the end of compiling, and says that it is waited for.
pub(super) async fn told<T>(backend: &str, compiling: impl Future<Output = T>) -> T {
    let say = |verb: &str, took: Duration| tracing::info!(target: TARGET, "{verb} {backend} ... {} s", took.as_secs());
    paced(PACE, say, compiling).await
}

async fn paced<T>(pace: Pace, mut say: impl FnMut(&str, Duration), compiling: impl Future<Output = T>) -> T {
    let begin = Instant::now();
    let mut next = begin + pace.first;
    let mut compiling = std::pin::pin!(compiling);
    loop {
        tokio::select! {
            biased;
            done = &mut compiling => {
                // Who has heard of the begin hears of the end.
                if next > begin + pace.first {
                    say("compiled", begin.elapsed());
                }
                return done;
            }
            () = sleep_until(next) => {
                say("compiling", begin.elapsed());
                next += pace.then;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use tokio::sync::Semaphore;

    use super::*;

    const QUICK: Pace = Pace { first: Duration::from_millis(1), then: Duration::from_millis(1) };

    #[tokio::test]
    async fn what_is_done_soon_is_not_mentioned() {
        let said = RefCell::new(0);
        assert_eq!(paced(PACE, |_, _| *said.borrow_mut() += 1, async { 7 }).await, 7);
        assert_eq!(*said.borrow(), 0);
    }

    #[tokio::test]
    async fn what_takes_long_is_said_until_its_end() {
        let (said, lines) = (RefCell::new(Vec::new()), Semaphore::new(0));
        let say = |verb: &str, _| {
            said.borrow_mut().push(verb.to_owned());
            lines.add_permits(1);
        };
        // It ends when it was mentioned three times.
        paced(QUICK, say, async { drop(lines.acquire_many(3).await.unwrap()) }).await;
        assert_eq!(*said.borrow(), ["compiling", "compiling", "compiling", "compiled"]);
    }
}
