//! Work of a call that its handler drives itself while the client waits, and that goes on as a task of
//! its own when the handler is dropped. Most calls end while their client waits, so they are spared the
//! task and the two wake-ups that detaching them at once would cost.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio_util::task::TaskTracker;

use drivebay_sandbox::lane::{Lane, Movable};

/// The work, and who takes it over.
#[derive(Debug)]
pub struct Attached<T: Send + 'static> {
    work: Option<Movable<T>>,
    tasks: TaskTracker,
}

impl<T: Send + 'static> Attached<T> {
    pub(super) fn new(tasks: &TaskTracker, lane: &Arc<Lane>, work: impl Future<Output = T> + Send + 'static) -> Self {
        // Counts as a task from the beginning, so that draining waits for it, wherever it ends.
        let token = tasks.token();
        let work = async move {
            let _token = token;
            work.await
        };
        Self { work: Some(Movable::new(lane, work)), tasks: tasks.clone() }
    }
}

impl<T: Send + 'static> Future for Attached<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let Some(work) = &mut self.work else { return Poll::Pending };
        let polled = Pin::new(work).poll(context);
        if polled.is_ready() {
            self.work = None;
        }
        polled
    }
}

impl<T: Send + 'static> Drop for Attached<T> {
    fn drop(&mut self) {
        // What is on its lane goes on. Without a runtime the process is ending, and recovery is what comes next.
        let work = self.work.take().filter(Movable::is_here);
        if let (Some(work), Ok(runtime)) = (work, tokio::runtime::Handle::try_current()) {
            self.tasks.spawn_on(
                async move {
                    work.await;
                },
                &runtime,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn dropped_work_goes_on_and_is_waited_for() {
        let (tasks, done) = (TaskTracker::new(), Arc::new(AtomicBool::new(false)));
        let (flag, (go, gone)) = (Arc::clone(&done), oneshot::channel());
        let work = Attached::new(&tasks, &Lane::new("b"), async move {
            gone.await.unwrap();
            flag.store(true, Ordering::Relaxed);
        });
        assert!(tokio::time::timeout(Duration::from_millis(1), work).await.is_err());
        assert!(!tasks.is_empty(), "it is a task of its own now");
        go.send(()).unwrap();
        tasks.close();
        tasks.wait().await;
        assert!(done.load(Ordering::Relaxed));
    }

    #[tokio::test]
    async fn work_that_is_awaited_ends_in_place() {
        let tasks = TaskTracker::new();
        assert_eq!(Attached::new(&tasks, &Lane::new("b"), async { 7 }).await, 7);
        assert!(tasks.is_empty());
    }
}
