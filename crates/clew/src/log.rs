//! Where events of long-running commands go: to the journal under systemd, else to standard error.

use std::fmt;
use std::io;
use std::os::unix::fs::MetadataExt;
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry, fmt::layer};

/// Sends clew's own events where they belong, once for a process.
pub fn begin() {
    let journal = is_journal().then(tracing_journald::layer);
    let layer: Box<dyn Layer<Registry> + Send + Sync> = match journal {
        Some(Ok(journal)) => journal.boxed(),
        _ => layer()
            .with_ansi(false)
            .with_writer(io::stderr)
            .event_format(Plain)
            .boxed(),
    };
    let own = Targets::new().with_target("clew", LevelFilter::INFO);
    // A program that embeds clew may have a subscriber already.
    let _ = tracing_subscriber::registry()
        .with(layer.with_filter(own))
        .try_init();
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
