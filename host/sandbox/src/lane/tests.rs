//! Moving work, and turns.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ThreadId;
use std::time::Instant;

use tokio_util::task::TaskTracker;

use super::*;

fn here() -> ThreadId {
    std::thread::current().id()
}

#[tokio::test]
async fn work_moves_once_and_stays_there() {
    let lane = Lane::new("b");
    let own = Arc::clone(&lane);
    let threads = Movable::new(&lane, async move {
        let before = here();
        own.enter().await.unwrap();
        let moved = here();
        // What waits for the serving runtime goes on there, too.
        tokio::time::sleep(Duration::from_millis(1)).await;
        own.enter().await.unwrap();
        (before, moved, here(), std::thread::current().name().map(ToOwned::to_owned))
    });
    let (before, moved, after, name) = threads.await;
    assert_eq!(before, here());
    assert!(moved != before && moved == after);
    assert_eq!(name.unwrap(), "b");
}

#[tokio::test]
async fn work_that_never_wishes_ends_where_it_began() {
    let lane = Lane::new("b");
    assert_eq!(Movable::new(&lane, async { here() }).await, here());
}

#[tokio::test]
async fn calls_of_a_slow_backend_begin_on_its_lane() {
    let lane = Lane::new("b");
    for _ in 0..20 {
        lane.note(Duration::from_millis(1));
    }
    let work = Movable::new(&lane, async { here() });
    assert!(!work.is_here());
    assert_ne!(work.await, here());
}

#[tokio::test]
async fn what_cannot_be_moved_says_so() {
    let lane = Lane::new("b");
    assert!(lane.enter().await.is_err());
}

#[tokio::test]
async fn moved_work_ends_although_nobody_waits_for_it() {
    let lane = Lane::new("b");
    let (own, (told, tell)) = (Arc::clone(&lane), tokio::sync::oneshot::channel());
    let (go, gone) = tokio::sync::oneshot::channel::<()>();
    let mut work = Movable::new(&lane, async move {
        own.enter().await.unwrap();
        gone.await.unwrap();
        told.send(()).unwrap();
    });
    assert!(futures_util::poll!(&mut work).is_pending());
    assert!(!work.is_here());
    drop(work);
    go.send(()).unwrap();
    tell.await.unwrap();
}

#[tokio::test]
#[should_panic(expected = "on the lane")]
async fn a_panic_on_the_lane_is_one_of_whoever_waits() {
    let lane = Lane::new("b");
    let own = Arc::clone(&lane);
    Movable::new(&lane, async move {
        own.enter().await.unwrap();
        panic!("on the lane");
    })
    .await;
}

#[tokio::test]
async fn what_is_let_go_is_dropped_on_the_lane() {
    struct Told(Option<tokio::sync::oneshot::Sender<ThreadId>>);
    impl Drop for Told {
        fn drop(&mut self) {
            self.0.take().unwrap().send(here()).unwrap();
        }
    }
    let (tell, told) = tokio::sync::oneshot::channel();
    let lane = Lane::new("b");
    lane.let_go(Told(Some(tell)));
    assert_ne!(told.await.unwrap(), here());
}

#[tokio::test]
async fn a_call_that_hangs_delays_no_other() {
    let lane = Lane::new("hangs");
    let (until, tasks) = (Arc::new(Barrier::new(9)), TaskTracker::new());
    let hang = |lane: &Arc<Lane>| {
        let (lane, until) = (Arc::clone(lane), Arc::clone(&until));
        async move {
            lane.enter().await.unwrap();
            until.wait();
        }
    };
    let hanging: Vec<_> = std::iter::repeat_with(|| tasks.spawn(Movable::new(&lane, hang(&lane)))).take(8).collect();
    let other = Lane::new("goes on");
    for lane in [&lane, &other] {
        let own = Arc::clone(lane);
        Movable::new(lane, async move { own.enter().await.unwrap() }).await;
    }
    until.wait();
    for hung in hanging {
        hung.await.unwrap();
    }
}

#[tokio::test]
async fn no_more_compute_at_once_than_may_and_each_backend_has_its_turn() {
    let lanes = [Lane::new("greedy"), Lane::new("modest")];
    let tasks = TaskTracker::new();
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let compute = |lane: &Arc<Lane>, turns: usize| {
        let (lane, now, most) = (Arc::clone(lane), Arc::clone(&now), Arc::clone(&most));
        Movable::new(&Arc::clone(&lane), async move {
            let place = Place::default();
            lane.enter().await.unwrap();
            for _ in 0..turns {
                place.turn(&lane).await;
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                let begin = Instant::now();
                while begin.elapsed() < Duration::from_millis(1) {}
                now.fetch_sub(1, Ordering::SeqCst);
            }
            place.leave();
            Instant::now()
        })
    };
    let greedy: Vec<_> = std::iter::repeat_with(|| tasks.spawn(compute(&lanes[0], 10))).take(20).collect();
    let modest = compute(&lanes[1], 10).await;
    let mut greedy_ends = Vec::new();
    for one in greedy {
        greedy_ends.push(one.await.unwrap());
    }
    assert!(most.load(Ordering::SeqCst) <= all_but_one());
    let earlier = greedy_ends.iter().filter(|end| **end < modest).count();
    assert!(earlier < 10, "{earlier} of 20 greedy calls went before the modest one");
}
