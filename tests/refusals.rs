//! What a guest tries that is not granted leaves a line in the operator's log, and a flood of such tries does not.

use tonic::Code;

use crate::support::{Guest, Options, TestHost, refused, requests};

/// The hostile sample does what a create's parameter `deed` says.
const FAULTY: Guest = Guest("faulty");

async fn tries(host: &TestHost, n: usize, deed: &str) {
    let mut request = requests::create(&format!("deed-{n}"));
    request.parameters = [("deed".to_owned(), deed.to_owned())].into();
    let status = refused(host.controller().await.create_volume(request).await);
    assert_eq!(status.code(), Code::PermissionDenied, "{deed}: {status:?}");
    assert!(status.message().contains("kept in"), "{deed}: {status:?}");
}

#[tokio::test]
async fn what_is_not_granted_is_said() {
    let data = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/etc/passwd", data.path().join("link")).unwrap();
    let grant = format!("directories = [{{ host = \"{}\", guest = \"/data\", write = true }}]", data.path().display());
    let host = TestHost::start(FAULTY, Options::default().backend("node-id = \"n1\"").grant(&grant)).await;
    for (n, (deed, tried, words)) in [
        ("connect 192.0.2.7:80", "socket", "a TCP socket"),
        ("send 192.0.2.7:9", "socket", "a UDP socket"),
        ("resolve array.example", "name lookup", "array.example"),
        ("read /data/../secret", "path", "../secret"),
        ("read /data/link", "path", "link"),
    ]
    .into_iter()
    .enumerate()
    {
        tries(&host, n, deed).await;
        host.log.wait(&format!("not granted: {words}"), 1).await;
        let lines = host.log.with(&format!("tried=\"{tried}\""));
        let line = lines.iter().find(|line| line.text.contains(words));
        let line = line.unwrap_or_else(|| panic!("{deed}: {}", host.log.tail()));
        assert!(line.text.contains(" audit: ") && line.text.contains("backend=\"under-test\""), "{}", line.text);
        assert!(line.text.contains("operation=\"CreateVolume\""), "{}", line.text);
    }
}

#[tokio::test]
async fn a_flood_of_tries_is_bounded() {
    let options = Options::default().backend("node-id = \"n1\"").limit("log-rate", "1").limit("log-burst", "2KiB");
    let host = TestHost::start(FAULTY, options).await;
    for n in 0..40 {
        tries(&host, n, "connect 192.0.2.7:80").await;
    }
    let said = host.log.with("not granted: ").len();
    assert!((1..20).contains(&said), "{said} lines");
}
