//! Many requests of one backend wait for a file system that does not move; another backend's are done meanwhile. What
//! is shown is an order of events, not a time.

use std::fs::{self, File};
use std::time::Duration;

use super::harness::{BACKEND, MIB, PERMISSIONS, Site, call, grants, is_mount, is_root, run, wait};
use crate::helper::system::syscalls;
use crate::{Access, BindSource, Caller, PathRole, Permissions};

const OTHER: &str = "other";
/// Half of them are more than all slots there are.
const WAITING: usize = 144;
/// So long nobody waits for what is done at once.
const PATIENCE: Duration = Duration::from_mins(1);

fn of(backend: &str, volume: &str, target: &str) -> Caller {
    let mut caller = call("c", &[(PathRole::Target, target)]);
    caller.backend = backend.to_owned();
    caller.volumes.push(volume.to_owned());
    caller
}

async fn bind(site: &Site, backend: &str, volume: &str, target: &str) -> Result<(), crate::NodeError> {
    let source = BindSource::Granted("/pool/d".to_owned());
    site.node.bind(&of(backend, volume, target), volume, source, target, Access::ReadWrite).await
}

#[test]
fn requests_that_wait_delay_no_other_backend() {
    if !is_root() {
        return;
    }
    let site = Site::configured(|root| {
        let permissions = Permissions { directories: grants(root), ..PERMISSIONS };
        [BACKEND, OTHER].map(|name| (name.to_owned(), permissions.clone())).into()
    });
    fs::create_dir(site.path("pool/d")).unwrap();
    // A place of pods that can be frozen: a request that makes a directory there stays under way.
    let image = site.path("slow.img");
    File::create(&image).unwrap().set_len(32 * MIB).unwrap();
    let (image, slow) = (image.to_str().unwrap(), site.staging("slow"));
    run("mkfs.ext4", &["-F", "-q", image]);
    run("mount", &["-o", "loop", image, &slow]);
    let root = File::open(&slow).unwrap();
    syscalls::freeze(&root).unwrap();

    // Half of them wait for the turn of one volume, the others for the file system itself.
    let volume = |n: usize| if n.is_multiple_of(2) { "v".to_owned() } else { format!("v{n}") };
    let targets: Vec<_> = (0..WAITING).map(|n| (volume(n), format!("{slow}/target-{n}"))).collect();
    let theirs = site.pod("theirs");
    let outcome = wait_with_time(async {
        let waiting = targets.iter().map(|(volume, target)| bind(&site, BACKEND, volume, target));
        let mut waiting = Box::pin(join_all(waiting));
        let other = async {
            for _ in 0..3 {
                bind(&site, OTHER, "v", &theirs).await.unwrap();
                assert!(is_mount(&theirs));
                site.node.unmount(&of(OTHER, "v", &theirs), "v", &theirs).await.unwrap();
            }
        };
        let done = tokio::select! {
            biased;
            _ = &mut waiting => false,
            () = other => true,
            () = tokio::time::sleep(PATIENCE) => false,
        };
        syscalls::thaw(&root).unwrap();
        (done, waiting.await)
    });
    assert!(outcome.0, "another backend had to wait");
    for (answer, (volume, target)) in outcome.1.into_iter().zip(&targets) {
        answer.unwrap();
        wait(site.node.unmount(&of(BACKEND, volume, target), volume, target)).unwrap();
    }
    drop(root);
    run("umount", &[&slow]);
    site.assert_clean();
}

pub(super) fn wait_with_time<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

/// All answers, in the order of the requests. All of them are sent before the first is awaited.
async fn join_all<F: Future + Send>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut pinned: Vec<_> = futures.map(Box::pin).collect();
    let mut outputs: Vec<Option<F::Output>> = pinned.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (future, output) in pinned.iter_mut().zip(&mut outputs).filter(|(_, output)| output.is_none()) {
            if let std::task::Poll::Ready(value) = future.as_mut().poll(context) {
                *output = Some(value);
            }
        }
        if outputs.iter().all(Option::is_some) { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    outputs.into_iter().flatten().collect()
}
