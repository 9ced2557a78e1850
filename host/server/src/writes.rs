//! What a connection with something around it does with writes: it passes them on. One text for all that watch or count
//! connections and have nothing to say of what is written.

/// Passes on the writes, and who is connected, of a type whose field `stream` is the connection.
macro_rules! passes_writes_on {
    ($wrapper:ident) => {
        impl<S: tokio::io::AsyncWrite + Unpin> tokio::io::AsyncWrite for $wrapper<S> {
            fn poll_write(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
                bytes: &[u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                std::pin::Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
            }

            fn poll_write_vectored(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
                bytes: &[std::io::IoSlice<'_>],
            ) -> std::task::Poll<std::io::Result<usize>> {
                std::pin::Pin::new(&mut self.get_mut().stream).poll_write_vectored(context, bytes)
            }

            fn is_write_vectored(&self) -> bool {
                self.stream.is_write_vectored()
            }

            fn poll_flush(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                std::pin::Pin::new(&mut self.get_mut().stream).poll_flush(context)
            }

            fn poll_shutdown(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                std::pin::Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
            }
        }

        impl<S: tonic::transport::server::Connected> tonic::transport::server::Connected for $wrapper<S> {
            type ConnectInfo = S::ConnectInfo;

            fn connect_info(&self) -> S::ConnectInfo {
                self.stream.connect_info()
            }
        }
    };
}

pub(crate) use passes_writes_on;
