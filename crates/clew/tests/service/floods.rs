//! Strangers who take what they can get, beside an author who goes on.

use crate::folder::{Folder, wait};
use clew_log::entry::Seal;
use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

const WAIT: Duration = Duration::from_secs(20);

#[test]
fn an_honest_author_goes_on_beside_strangers() {
    let folder = Folder::new();
    let (log, _witnesses) = folder.whole();
    let court = folder.author("court", "requester", &log);
    // Connections that say nothing, or half a handshake, and stay.
    let mut idle = Vec::new();
    for number in 0..400 {
        if let Ok(mut stream) = TcpStream::connect(log.at()) {
            if number % 2 == 0 {
                let _ = stream.write_all(&[0x16, 3, 1]);
            }
            idle.push(stream);
        }
    }
    let stranger = clew_service::http::Client::new(&log.url.parse().unwrap()).unwrap();
    let client = log.log();
    wait(async {
        let flood = tokio::spawn(async move {
            let mut refused = 0;
            loop {
                // Garbage, entries that nobody signed, bodies beyond any entry, tiles that are not there.
                for body in [vec![0; 10], vec![7; 60_000], vec![1; 200_000]] {
                    let answer = stranger.post("add", body, 1_000, WAIT).await;
                    assert!(answer.is_err());
                    refused += 1;
                }
                for path in ["tile/0/x999/x999/999", "tile/entries/999", "tile/9/000"] {
                    assert!(stranger.get(path, None, 1_000, WAIT).await.is_err());
                }
                if refused > 1_000_000 {
                    break;
                }
            }
        });
        for number in 0..50 {
            court
                .says(&client, court.request(number, Seal::Open(court.warrant())))
                .await
                .unwrap();
        }
        assert!(!flood.is_finished(), "no answer surprised the stranger");
        flood.abort();
    });
    drop(idle);
}
