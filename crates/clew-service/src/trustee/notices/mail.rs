//! A notice as mail. lettre writes the message and speaks SMTP; the connection is this module's, so that a
//! server which never ends an answer fills no memory.

use super::Notice;
use super::settings::{MailSettings, SettingsError};
use crate::http::{ServiceUrl, client_config};
use lettre::Message;
use lettre::message::Mailbox;
use lettre::message::header::ContentType;
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{AsyncSmtpConnection, AsyncTokioStream};
use lettre::transport::smtp::extension::ClientId;
use rustls::pki_types::ServerName;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Most bytes that are read from a mail server for one mail.
const READ_MAX: usize = 64 << 10;
const PORT_TLS: u16 = 465;
const PORT_CLEAR: u16 = 25;

/// Who gets mail, and by which server.
pub(super) struct Mail {
    settings: MailSettings,
    from: Mailbox,
    to: Vec<Mailbox>,
    host: String,
    port: u16,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

impl std::fmt::Debug for Mail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Mail")
    }
}

fn bad(key: &'static str, why: impl ToString) -> SettingsError {
    let why = why.to_string();
    SettingsError::Value { key, why }
}

impl Mail {
    pub(super) fn new(settings: &MailSettings) -> Result<Self, SettingsError> {
        let mailbox = |key: &'static str, text: &str| {
            let address: Result<Mailbox, _> = text.parse();
            address.map_err(|error| bad(key, error))
        };
        let to = settings.to.iter().map(|text| mailbox("mail.to", text));
        let (host, port, is_tls) = place(&settings.server)?;
        let tls = match is_tls {
            false => None,
            true => {
                let config = client_config(settings.server.pin());
                let config = config.map_err(|error| bad("mail.server", error))?;
                let name = ServerName::try_from(host.clone());
                let name = name.map_err(|error| bad("mail.server", error))?;
                Some((TlsConnector::from(Arc::new(config)), name))
            }
        };
        Ok(Self {
            from: mailbox("mail.from", &settings.from)?,
            to: to.collect::<Result<_, _>>()?,
            settings: settings.clone(),
            host,
            port,
            tls,
        })
    }

    fn message(&self, notice: &Notice) -> Result<Message, String> {
        let mut message = Message::builder()
            .from(self.from.clone())
            .subject(notice.subject.clone())
            .header(ContentType::TEXT_PLAIN);
        for to in &self.to {
            message = message.to(to.clone());
        }
        let message = message.body(notice.text.clone());
        message.map_err(|error| error.to_string())
    }

    /// Sends a notice. An error has the server's status, and none of its words.
    pub(super) async fn send(&self, notice: &Notice) -> Result<(), String> {
        let message = self.message(notice)?;
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await;
        let stream = stream.map_err(|error| format!("no connection: {}", error.kind()))?;
        let stream: Box<dyn AsyncTokioStream> = match &self.tls {
            None => Box::new(Bounded::new(stream)),
            Some((connector, name)) => {
                let tls = connector.connect(name.clone(), stream).await;
                Box::new(Bounded::new(tls.map_err(|_| "TLS failed".to_owned())?))
            }
        };
        let hello = ClientId::Domain("localhost".to_owned()); // the host's name is nobody's business
        let mut smtp = AsyncSmtpConnection::connect_with_transport(stream, &hello)
            .await
            .map_err(|error| said(&error))?;
        if let Some((user, password)) = &self.settings.login {
            // lettre's copy is not wiped. It ends with this connection.
            let credentials = Credentials::new(user.clone(), password.to_string());
            let mechanisms = [Mechanism::Plain, Mechanism::Login];
            let login = smtp.auth(&mechanisms, &credentials).await;
            login.map_err(|error| format!("login: {}", said(&error)))?;
        }
        let sent = smtp.send(message.envelope(), &message.formatted()).await;
        sent.map_err(|error| said(&error))?;
        let _ = smtp.quit().await; // the server has taken it
        Ok(())
    }
}

/// Host and port of a server, and whether it speaks TLS.
fn place(server: &ServiceUrl) -> Result<(String, u16, bool), SettingsError> {
    let url = server.join("").map_err(|error| bad("mail.server", error))?;
    let host = url.host_str().unwrap_or_default();
    let host = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .to_owned();
    let is_tls = url.scheme() == "https";
    let default = if is_tls { PORT_TLS } else { PORT_CLEAR };
    Ok((host, url.port().unwrap_or(default), is_tls))
}

fn said(error: &lettre::transport::smtp::Error) -> String {
    match error.status() {
        Some(code) => format!("refused, status {code}"),
        None if error.is_response() => "the server does not speak SMTP".to_owned(),
        None => "the connection ended, or the server says too much".to_owned(),
    }
}

/// A connection that ends when its peer said more than a mail needs.
#[derive(Debug)]
struct Bounded<S> {
    stream: S,
    left: usize,
}

impl<S> Bounded<S> {
    const fn new(stream: S) -> Self {
        let left = READ_MAX;
        Self { stream, left }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Bounded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.left == 0 {
            return Poll::Ready(Err(io::Error::other("too long")));
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.left = self.left.saturating_sub(buffer.filled().len() - before);
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Bounded<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl<S> AsyncTokioStream for Bounded<S>
where
    S: AsyncRead + AsyncWrite + Send + Sync + Unpin + std::fmt::Debug,
{
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        Err(io::Error::other("not told"))
    }
}
