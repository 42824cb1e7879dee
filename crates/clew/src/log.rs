//! Where events of long-running commands go: to the journal under systemd, else to standard error.

use std::fmt;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry, fmt::layer};

/// Lines that wait for standard error; more are dropped, and counted.
const LINES_MAX: usize = 1_024;

/// How long the last lines may take when the program ends.
const LAST_LINES: Duration = Duration::from_secs(1);

/// Where the lines of standard error wait, once [`begin`] made it.
static QUEUE: OnceLock<Queue> = OnceLock::new();

/// Sends clew's own events where they belong, once for a process.
pub fn begin() {
    let journal = is_journal().then(tracing_journald::layer);
    let layer: Box<dyn Layer<Registry> + Send + Sync> = match journal {
        Some(Ok(journal)) => journal.boxed(),
        _ => layer()
            .with_ansi(false)
            .with_writer(|| QUEUE.get_or_init(|| Queue::to(io::stderr())))
            .log_internal_errors(false)
            .event_format(Plain)
            .boxed(),
    };
    let own = Targets::new().with_target("clew", LevelFilter::INFO);
    // A program that embeds clew may have a subscriber already.
    let _ = tracing_subscriber::registry()
        .with(layer.with_filter(own))
        .try_init();
}

/// Waits for the last lines, for a while.
pub fn end() {
    if let Some(queue) = QUEUE.get() {
        queue.drain(LAST_LINES);
    }
}

/// Lines that one thread writes: who says something never waits for its reader.
struct Queue {
    lines: SyncSender<Entry>,
    dropped: Arc<AtomicU64>,
}

enum Entry {
    Line(Vec<u8>),
    /// All before it is written.
    Mark(SyncSender<()>),
}

impl Queue {
    fn to(mut out: impl Write + Send + 'static) -> Self {
        let (lines, waiting) = sync_channel(LINES_MAX);
        let dropped = Arc::new(AtomicU64::new(0));
        let missing = Arc::clone(&dropped);
        thread::spawn(move || {
            for entry in waiting {
                // Nobody can be told that a line cannot be written.
                let _ = match entry {
                    Entry::Line(line) => out.write_all(&line),
                    Entry::Mark(done) => done.try_send(()).map_err(io::Error::other),
                };
                let count = missing.swap(0, Ordering::Relaxed);
                if count > 0 {
                    let _ = writeln!(out, "clew: warning: {count} lines were dropped here");
                }
            }
        });
        Self { lines, dropped }
    }

    fn drain(&self, wait: Duration) {
        let end = Instant::now() + wait;
        let (done, written) = sync_channel(1);
        while self.lines.try_send(Entry::Mark(done.clone())).is_err() {
            if Instant::now() > end {
                return;
            }
            thread::sleep(wait / 100);
        }
        let _ = written.recv_timeout(end.saturating_duration_since(Instant::now()));
    }
}

impl Write for &Queue {
    /// One event comes as one piece.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.lines.try_send(Entry::Line(line.to_vec())).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether standard error is the journal: `systemd.exec(5)`, JOURNAL_STREAM.
fn is_journal() -> bool {
    let stream = std::env::var("JOURNAL_STREAM").unwrap_or_default();
    let Ok(of) = std::fs::metadata("/dev/stderr") else {
        return false;
    };
    stream == format!("{}:{}", of.dev(), of.ino())
}

/// One line: `clew: warning: MESSAGE field=value`.
struct Plain;

impl<S, N> FormatEvent<S, N> for Plain
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        writer.write_str(match *event.metadata().level() {
            Level::ERROR => "clew: error: ",
            Level::WARN => "clew: warning: ",
            _ => "clew: ",
        })?;
        context.format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// A reader of standard error that sleeps.
    #[test]
    fn a_blocked_reader_blocks_nobody_and_what_is_missing_is_said() {
        let (mut reader, writer) = io::pipe().unwrap();
        let queue = Queue::to(writer);
        let line = format!("{}\n", "x".repeat(1023));
        let said = 2 * LINES_MAX;
        let begin = Instant::now();
        for _ in 0..said {
            (&queue).write_all(line.as_bytes()).unwrap();
        }
        assert!(begin.elapsed() < Duration::from_secs(30), "it waited");
        let text = Arc::new(Mutex::new(String::new()));
        let read = Arc::clone(&text);
        let reading = thread::spawn(move || {
            io::Read::read_to_string(&mut reader, &mut read.lock().unwrap()).unwrap();
        });
        queue.drain(Duration::from_secs(60));
        drop(queue);
        reading.join().unwrap();
        let text = text.lock().unwrap();
        let (written, missing): (Vec<_>, _) = text.lines().partition(|line| line.starts_with('x'));
        let counts = missing.iter().map(|line| {
            let count = line.strip_prefix("clew: warning: ");
            let count = count.and_then(|line| line.strip_suffix(" lines were dropped here"));
            count.unwrap().parse::<usize>().unwrap()
        });
        let missing: usize = counts.sum();
        assert!(missing > 0, "the reader slept");
        assert_eq!(written.len() + missing, said);
    }
}
