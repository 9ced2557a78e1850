//! The line before the places.

use super::*;

#[tokio::test]
async fn no_more_compute_than_there_are_places_and_each_has_its_turn() {
    let places = Arc::new(Semaphore::new(1));
    let (one, other) = (Arc::new(Place::default()), Arc::new(Place::default()));
    one.queue_for(Arc::clone(&places)).await;
    let mut waiting = Box::pin(other.queue_for(Arc::clone(&places)));
    for _ in 0..3 {
        assert!(futures_util::poll!(&mut waiting).is_pending(), "the only place is taken");
    }
    // Who has had it waits behind the other.
    let mut again = Box::pin(one.queue_for(Arc::clone(&places)));
    assert!(futures_util::poll!(&mut again).is_pending());
    waiting.await;
    for _ in 0..3 {
        assert!(futures_util::poll!(&mut again).is_pending());
    }
    other.leave();
    again.await;
}

#[tokio::test]
async fn who_gives_up_waiting_takes_nobodys_place() {
    let places = Arc::new(Semaphore::new(1));
    let (one, other) = (Place::default(), Place::default());
    one.queue_for(Arc::clone(&places)).await;
    {
        let mut waiting = Box::pin(other.queue_for(Arc::clone(&places)));
        let _ = futures_util::poll!(&mut waiting);
        assert!(futures_util::poll!(&mut waiting).is_pending());
        one.leave();
    }
    one.queue_for(places).await;
}
