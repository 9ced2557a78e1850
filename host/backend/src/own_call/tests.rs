//! A call that is late is kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use drivebay_sandbox::lane::Lane;
use tokio::sync::oneshot;

use super::*;

#[tokio::test]
async fn a_call_that_is_late_is_waited_for_again_and_begun_once() {
    let (begun, (go, gone)) = (Arc::new(AtomicUsize::new(0)), oneshot::channel());
    let count = Arc::clone(&begun);
    let call = Movable::new(&Lane::new("b"), async move {
        count.fetch_add(1, Ordering::Relaxed);
        gone.await
    });
    let mut call = OwnCall { call, wall: Duration::from_millis(1) };
    for _ in 0..3 {
        assert_eq!(call.end().await.unwrap_err().detail, Fault::hanging().detail);
    }
    go.send(7).unwrap();
    assert_eq!(call.end().await.unwrap(), Ok(7));
    assert_eq!(begun.load(Ordering::Relaxed), 1);
}
