//! A connection that is watched: gRPC calls over one HTTP/2 connection that is never made again, so that a
//! test sees when the host closes it. Generated clients connect again in silence.

use std::path::Path;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use h2::client::SendRequest;
use prost::Message;
use tokio::net::UnixStream;
use tokio::task::JoinSet;

use super::PATIENCE;

/// One connection.
#[derive(Debug)]
pub struct Lasting {
    send: SendRequest<Bytes>,
    connection: JoinSet<Result<(), h2::Error>>,
}

/// The status of a call that failed, or what became of the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed(pub String);

impl Lasting {
    /// Connects.
    pub async fn open(socket: &Path) -> Self {
        let stream = UnixStream::connect(socket).await.expect("the host listens");
        let (send, driver) = h2::client::handshake(stream).await.expect("it speaks HTTP/2");
        let mut connection = JoinSet::new();
        connection.spawn(driver);
        Self { send, connection }
    }

    /// Whether the host has closed it.
    pub fn is_closed(&mut self) -> bool {
        self.connection.try_join_next().is_some() || self.connection.is_empty()
    }

    /// Waits until the host closes it.
    pub async fn closed(&mut self) {
        let closed = tokio::time::timeout(PATIENCE, self.connection.join_next()).await;
        assert!(closed.is_ok(), "the connection stays open");
    }

    /// Makes one call.
    pub async fn call<A: Message + Default>(&self, path: &str, request: &impl Message) -> Result<A, Failed> {
        self.exchange(path, request).await.map_err(|error| Failed(format!("the connection: {error}")))?
    }

    async fn exchange<A: Message + Default>(
        &self,
        path: &str,
        request: &impl Message,
    ) -> Result<Result<A, Failed>, h2::Error> {
        let head = http::Request::post(format!("http://localhost{path}"))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .body(())
            .unwrap();
        let (answer, mut body) = self.send.clone().ready().await?.send_request(head, false)?;
        let mut frame = BytesMut::new();
        frame.put_u8(0);
        frame.put_u32(u32::try_from(request.encoded_len()).unwrap());
        request.encode(&mut frame).unwrap();
        body.send_data(frame.freeze(), true)?;
        let answer = answer.await?;
        let early = status(answer.headers());
        let mut stream = answer.into_body();
        let mut bytes = BytesMut::new();
        while let Some(part) = stream.data().await {
            let part = part?;
            let _ = stream.flow_control().release_capacity(part.len());
            bytes.put(part);
        }
        let late = stream.trailers().await?.and_then(|trailers| status(&trailers));
        Ok(match early.or(late) {
            Some((code, _)) if code == "0" => {
                bytes.advance(5);
                Ok(A::decode(bytes).expect("answers are well-formed"))
            }
            Some((code, words)) => Err(Failed(format!("{code}: {words}"))),
            None => Err(Failed("no status".to_owned())),
        })
    }
}

fn status(headers: &http::HeaderMap) -> Option<(String, String)> {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default().to_owned());
    text("grpc-status").map(|code| (code, text("grpc-message").unwrap_or_default()))
}
