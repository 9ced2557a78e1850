//! What is seen on sockets only: messages with fields of the future, and services of other protocols.

use std::path::PathBuf;

use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint as Address, Uri};
use tonic::{Code, Request};

use super::walk::Driver;
use crate::options::Shape;
use crate::serve::{Door, Patience};

/// The beginning of `CreateVolumeRequest` as a later version may have it.
#[derive(Clone, PartialEq, prost::Message)]
struct Later {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "1900")]
    news: String,
}

/// An answer whose content does not matter.
#[derive(Clone, PartialEq, prost::Message)]
struct Anything {}

async fn connect(path: PathBuf) -> Channel {
    let connector = move |_: Uri| {
        let path = path.clone();
        async move { UnixStream::connect(path).await.map(hyper_util::rt::TokioIo::new) }
    };
    Address::from_static("http://localhost").connect_with_connector(tower::service_fn(connector)).await.unwrap()
}

async fn call(
    channel: Channel,
    path: &'static str,
    message: Later,
) -> Result<tonic::Response<Anything>, tonic::Status> {
    let mut client = tonic::client::Grpc::new(channel);
    client.ready().await.unwrap();
    let codec = tonic_prost::ProstCodec::<Later, Anything>::default();
    client.unary(Request::new(message), PathAndQuery::from_static(path), codec).await
}

impl Driver {
    pub(super) async fn walk_sockets(&mut self) {
        if self.shape != Shape::Unified {
            return;
        }
        for told in self.ask_with_news().await {
            self.told.push(told);
        }
    }

    async fn ask_with_news(&mut self) -> Vec<String> {
        let path = PathBuf::from(self.path("a.sock"));
        let door = Door::bind(&path.to_string_lossy(), self.first.clone(), Patience::new(None)).unwrap();
        let end = CancellationToken::new();
        let doors = vec![door];
        let serving = crate::serve::all(doors, &end);
        let asking = async {
            let channel = connect(path).await;
            let mut told = Vec::new();
            for method in [
                "/csi.v1.Controller/CreateVolume",
                "/replication.Controller/EnableVolumeReplication",
                "/other.Service/Method",
            ] {
                let message = Later { name: "news".to_owned(), news: "news".to_owned() };
                told.push(format!(
                    "{method}: {:?}",
                    call(channel.clone(), method, message)
                        .await
                        .map_err(|status| (status.code(), status.message().to_owned()))
                ));
            }
            end.cancel();
            told
        };
        let (served, told) = tokio::join!(serving, asking);
        served.unwrap();
        told
    }
}

#[tokio::test]
async fn an_unknown_service_is_refused_with_words() {
    let mut driver = Driver::new(Shape::Unified, None);
    let told = driver.ask_with_news().await;
    assert!(told[2].contains(&format!("{:?}", Code::Unimplemented)) && told[2].contains("no such service"), "{told:?}");
}
