//! Notices to receivers that take them, and to hostile ones.

use super::{Notice, Notifier, Settings};
use crate::http::{Certificate, Pin};
use crate::trustee::testing::{FakeDocket, lock};
use crate::trustee::{Docket, Metrics};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use zeroize::Zeroizing;

type Got = Arc<Mutex<Vec<String>>>;

/// How a receiver behaves.
#[derive(Clone, Copy, PartialEq)]
enum Manner {
    Good,
    Hangs,
    Refuses,
    Endless,
}

/// Listens, and answers each connection by `answer`.
async fn listen<F>(answer: impl Fn(TcpStream) -> F + Send + 'static) -> SocketAddr
where
    F: Future<Output = io::Result<()>> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream));
        }
    });
    at
}

/// Bytes until the peer goes.
async fn flood(stream: &mut (impl AsyncWriteExt + Unpin)) -> io::Result<()> {
    loop {
        stream.write_all(&[b'9'; 1 << 16]).await?;
    }
}

async fn webhook(manner: Manner, got: Got) -> SocketAddr {
    listen(move |mut stream| {
        let got = got.clone();
        async move {
            let (mut head, mut byte) = (Vec::new(), [0]);
            while !head.ends_with(b"\r\n\r\n") {
                stream.read_exact(&mut byte).await?;
                head.push(byte[0]);
            }
            let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
            let length = head.split("content-length: ").nth(1).unwrap();
            let mut body = vec![0; length.split('\r').next().unwrap().parse().unwrap()];
            stream.read_exact(&mut body).await?;
            let path = head.split(' ').nth(1).unwrap();
            let body = String::from_utf8(body).unwrap();
            lock(&got).push(format!("{path} {body}"));
            match manner {
                Manner::Hangs => std::future::pending().await,
                Manner::Endless => {
                    stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
                    flood(&mut stream).await
                }
                Manner::Refuses => {
                    let no = b"HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n";
                    stream.write_all(no).await
                }
                Manner::Good => {
                    let ok = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
                    stream.write_all(ok).await
                }
            }
        }
    })
    .await
}

/// A mail server: says hello, asks for a password, takes mail.
async fn mail_server(manner: Manner, got: Got) -> SocketAddr {
    listen(move |stream| take_mail(stream, manner, got.clone())).await
}

async fn take_mail(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    manner: Manner,
    got: Got,
) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    match manner {
        Manner::Hangs => std::future::pending::<()>().await,
        Manner::Endless => return flood(&mut stream).await,
        Manner::Refuses => stream.write_all(b"554 no service\r\n").await?,
        Manner::Good => stream.write_all(b"220 mail.example\r\n").await?,
    }
    let (mut line, mut mail) = (String::new(), String::new());
    while stream.read_line(&mut line).await? > 0 {
        let answer = match line.split_whitespace().next().unwrap_or_default() {
            "EHLO" => "250-mail.example\r\n250 AUTH PLAIN\r\n",
            "DATA" => "354 go on\r\n",
            "QUIT" => "221 bye\r\n",
            "AUTH" => "235 in\r\n",
            _ => "250 ok\r\n",
        };
        mail += &line;
        stream.write_all(answer.as_bytes()).await?;
        if line.starts_with("DATA") {
            line.clear();
            while line != ".\r\n" {
                line.clear();
                stream.read_line(&mut line).await?;
                mail += &line;
            }
            stream.write_all(b"250 taken\r\n").await?;
            lock(&got).push(std::mem::take(&mut mail));
        }
        line.clear();
    }
    Ok(())
}

fn notifier(text: &str) -> Notifier {
    let password = |_: &std::path::Path| Ok(Zeroizing::new("hunter2".to_owned()));
    let times = format!("every = '1s'\nretry = '1s'\ntimeout = '1s'\n{text}");
    Notifier::new(Settings::parse(&times, password).unwrap(), |_| ()).unwrap()
}

fn mail_to(at: SocketAddr) -> String {
    format!(
        "[mail]\nserver = 'smtp://{at}'\nfrom = 'clew@trustee.example'\nto = ['alice@example.org']\n\
         user = 'alice'\npassword-file = 'mail.password'\n"
    )
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_secs(20), "never: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notice_says_what_waits_and_nothing_else() {
    let (hooked, mailed) = (Got::default(), Got::default());
    let hook = webhook(Manner::Good, hooked.clone()).await;
    let mail = mail_server(Manner::Good, mailed.clone()).await;
    let text = format!(
        "[webhook]\nurl = 'http://{hook}/services/T0'\n{}",
        mail_to(mail)
    );
    let docket = Arc::new(FakeDocket::new([1; 32], 30));
    let metrics = Arc::new(Metrics::default());
    let running = tokio::spawn(notifier(&text).run(docket.clone(), metrics.clone()));
    until("both", || metrics.notices.load(Relaxed) == 2).await;
    until("told", || lock(&docket.told).len() == 30).await;
    let hooked = lock(&hooked).clone();
    let subject = "clew: 30 requests for trustee alice of acme";
    assert!(hooked[0].starts_with("/services/t0 {"), "{}", hooked[0]);
    let mailed = lock(&mailed).clone();
    assert!(
        mailed[0].contains("RCPT TO:<alice@example.org>"),
        "{}",
        mailed[0]
    );
    assert!(mailed[0].contains("AUTH PLAIN"), "{}", mailed[0]);
    for said in [&hooked[0], &mailed[0]] {
        assert!(
            said.contains(subject) && said.contains("0101010101010101"),
            "{said}"
        );
        assert!(said.contains("and 10 more"), "{said}");
        for secret in ["police", "KLs", "192.0.2.1", "hunter2", "opening"] {
            assert!(!said.contains(secret), "{secret} in {said}");
        }
    }
    // What was told is not told again.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(metrics.notices.load(Relaxed), 2);
    running.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_receivers_are_left_in_time() {
    let notice = Notice {
        subject: "subject".to_owned(),
        text: "text".to_owned(),
    };
    let wait = Duration::from_secs(1);
    for (manner, by_hook, by_mail) in [
        (Manner::Hangs, "no answer in time", "no answer in time"),
        (
            Manner::Refuses,
            "refused, status 500",
            "refused, status 554",
        ),
        (Manner::Endless, "its answer is too long", "says too much"),
    ] {
        let got = Got::default();
        let hook = webhook(manner, got.clone()).await;
        let mail = mail_server(manner, got.clone()).await;
        let text = format!("[webhook]\nurl = 'http://{hook}/secret'\n{}", mail_to(mail));
        let notifier = notifier(&text);
        let started = Instant::now();
        let [hook, mail] = &notifier.channels[..] else {
            unreachable!("two channels")
        };
        let (hook, mail) = tokio::join!(hook.send(&notice, wait), mail.send(&notice, wait));
        let (hook, mail) = (hook.unwrap_err(), mail.unwrap_err());
        assert!(hook.contains(by_hook) && !hook.contains("secret"), "{hook}");
        assert!(mail.contains(by_mail), "{mail}");
        assert!(started.elapsed() < Duration::from_secs(5));
    }
    // Nobody listens.
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = gone.local_addr().unwrap();
    drop(gone);
    let notifier = notifier(&mail_to(at));
    let error = notifier.channels[0].send(&notice, wait).await.unwrap_err();
    assert!(error.contains("no connection"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_channel_that_fails_does_not_keep_another_from_telling() {
    let (hooked, mailed) = (Got::default(), Got::default());
    let hook = webhook(Manner::Refuses, hooked.clone()).await;
    let mail = mail_server(Manner::Good, mailed.clone()).await;
    let text = format!("[webhook]\nurl = 'http://{hook}/'\n{}", mail_to(mail));
    let docket = Arc::new(FakeDocket::new([1; 32], 1));
    let metrics = Arc::new(Metrics::default());
    let running = tokio::spawn(notifier(&text).run(docket.clone(), metrics.clone()));
    until("a second attempt", || lock(&hooked).len() >= 2).await;
    assert_eq!((lock(&mailed).len(), metrics.notices.load(Relaxed)), (1, 1));
    assert!(metrics.notice_failures.load(Relaxed) >= 1);
    // It is not told as long as a channel tries: a restart tells again.
    assert_eq!(docket.untold().unwrap().len(), 1);
    running.abort();
}

/// The password goes to the server with the pinned key alone.
#[tokio::test(flavor = "multi_thread")]
async fn mail_over_tls_is_for_the_pinned_server() {
    let dir = tempfile::tempdir().unwrap();
    let certificate = Certificate::of(dir.path(), &["localhost".to_owned()]).unwrap();
    let config = certificate.server_config().unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let got = Got::default();
    let taken = got.clone();
    let at = listen(move |stream| {
        let (acceptor, got) = (acceptor.clone(), taken.clone());
        async move { take_mail(acceptor.accept(stream).await?, Manner::Good, got).await }
    })
    .await;
    let notice = Notice {
        subject: "Prüfung".to_owned(),
        text: "text".to_owned(),
    };
    let wait = Duration::from_secs(5);
    let to = |pin: Pin| {
        let clear = format!("smtp://{at}");
        let text = mail_to(at).replace(&clear, &format!("smtps://localhost:{}#{pin}", at.port()));
        notifier(&text)
    };
    let other = to(Pin::of(b"another key"));
    let error = other.channels[0].send(&notice, wait).await.unwrap_err();
    assert!(error.contains("TLS failed"), "{error}");
    assert_eq!(lock(&got).len(), 0);
    let own = to(certificate.pin());
    own.channels[0].send(&notice, wait).await.unwrap();
    let mail = lock(&got).clone();
    assert!(mail[0].contains("AUTH PLAIN"), "{}", mail[0]);
}
