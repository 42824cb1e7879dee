//! Notices to a trustee's operator: mail and a webhook, sent by the trustee's own process, so that nobody
//! else learns of them. They say that something waits, and which ids, and nothing of its content.
//!
//! A notice that fails never stops the work: it is tried again, with growing pauses, and given up in the end.

mod mail;
mod settings;
mod webhook;

pub use settings::{Settings, SettingsError};

use super::{Docket, DocketError, Kind, Metrics};
use crate::metrics::count;
use std::sync::Arc;
use std::time::Duration;

/// Attempts to send one notice on one channel. Then it is given up.
const ATTEMPTS_MAX: u32 = 5;
/// Longest pause between two of them.
const PAUSE_MAX: Duration = Duration::from_secs(3_600);
/// How often the directory is looked at.
const LOOK: Duration = Duration::from_secs(5);
/// Most ids that a notice names.
const NAMED_MAX: usize = 20;
/// Digits of an id in a notice, as `clew trustee list` takes them.
const DIGITS: usize = 16;

/// What is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Notice {
    subject: String,
    text: String,
}

impl Notice {
    fn of(docket: &dyn Docket, untold: &[(Kind, String)]) -> Self {
        let requests = untold.iter().filter(|(kind, _)| *kind == Kind::Request);
        let requests = requests.count();
        let counted = |count: usize, what: &str| match count {
            0 => None,
            1 => Some(format!("1 {what}")),
            count => Some(format!("{count} {what}s")),
        };
        let counts = [
            counted(requests, "request"),
            counted(untold.len() - requests, "plan"),
        ];
        let counts: Vec<_> = counts.into_iter().flatten().collect();
        let subject = format!(
            "clew: {} for trustee {} of {}",
            counts.join(" and "),
            docket.name(),
            docket.group()
        );
        let mut text = format!("{subject}\n\nWaiting for your decision:\n");
        for (_, id) in untold.iter().take(NAMED_MAX) {
            text += &format!("  {}\n", id.get(..DIGITS).unwrap_or(id));
        }
        if untold.len() > NAMED_MAX {
            text += &format!("  and {} more\n", untold.len() - NAMED_MAX);
        }
        text += "\nOn the trustee's host: clew trustee list DIR\n";
        Self { subject, text }
    }
}

/// Where notices go.
#[derive(Debug)]
enum Channel {
    Webhook(webhook::Webhook),
    Mail(Box<mail::Mail>),
}

impl Channel {
    async fn send(&self, notice: &Notice, wait: Duration) -> Result<(), String> {
        let sending = async {
            match self {
                Self::Webhook(webhook) => webhook.send(notice, wait).await,
                Self::Mail(mail) => mail.send(notice).await,
            }
        };
        let sent = tokio::time::timeout(wait, sending).await;
        sent.unwrap_or_else(|_| Err("no answer in time".to_owned()))
    }

    const fn name(&self) -> &'static str {
        match self {
            Self::Webhook(_) => "webhook",
            Self::Mail(_) => "mail",
        }
    }
}

/// Tells an operator, by its settings, what waits.
#[derive(Debug)]
pub struct Notifier {
    settings: Settings,
    channels: Vec<Channel>,
    tell: fn(&str),
}

impl Notifier {
    /// Prepares the channels. Nothing is sent. `tell` gets lines for the service's operator.
    ///
    /// # Errors
    /// [`SettingsError`] if TLS cannot be set up, or an address is not one.
    pub fn new(settings: Settings, tell: fn(&str)) -> Result<Self, SettingsError> {
        let mut channels = Vec::new();
        if let Some(hook) = &settings.webhook {
            channels.push(Channel::Webhook(webhook::Webhook::new(hook)?));
        }
        if let Some(mail) = &settings.mail {
            channels.push(Channel::Mail(Box::new(mail::Mail::new(mail)?)));
        }
        Ok(Self {
            settings,
            channels,
            tell,
        })
    }

    /// Tells for ever. At most one notice leaves in [`Settings::every`]: it has all that came meanwhile.
    pub async fn run(self, docket: Arc<dyn Docket>, metrics: Arc<Metrics>) {
        loop {
            match ask(&docket, |docket| docket.untold()).await {
                Ok(untold) if !untold.is_empty() => {
                    let notice = Notice::of(&*docket, &untold);
                    self.send(&notice, &metrics).await;
                    // Given up, too: what nobody can send is not tried for ever. The list has it.
                    if let Err(error) = ask(&docket, move |docket| docket.set_told(&untold)).await {
                        (self.tell)(&format!("notices: {error}"));
                    }
                    tokio::time::sleep(self.settings.every).await;
                }
                Ok(_) => tokio::time::sleep(LOOK.min(self.settings.every)).await,
                Err(error) => {
                    (self.tell)(&format!("notices: {error}"));
                    tokio::time::sleep(PAUSE_MAX.min(self.settings.every)).await;
                }
            }
        }
    }

    /// Sends a notice on all channels at once, each until it is taken or given up.
    async fn send(&self, notice: &Notice, metrics: &Metrics) {
        let [first, second] = [self.channels.first(), self.channels.get(1)];
        let one = |channel| self.send_on(channel, notice, metrics);
        tokio::join!(one(first), one(second));
    }

    async fn send_on(&self, channel: Option<&Channel>, notice: &Notice, metrics: &Metrics) {
        let Some(channel) = channel else { return };
        let mut pause = self.settings.retry;
        for attempt in 1..=ATTEMPTS_MAX {
            match channel.send(notice, self.settings.timeout).await {
                Ok(()) => return count(&metrics.notices),
                Err(why) => {
                    count(&metrics.notice_failures);
                    (self.tell)(&format!("notice by {}: {why}", channel.name()));
                }
            }
            if attempt < ATTEMPTS_MAX {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(PAUSE_MAX);
            }
        }
        count(&metrics.notices_lost);
        (self.tell)(&format!("notice by {}: given up", channel.name()));
    }
}

async fn ask<T: Send + 'static>(
    docket: &Arc<dyn Docket>,
    ask: impl FnOnce(&dyn Docket) -> Result<T, DocketError> + Send + 'static,
) -> Result<T, DocketError> {
    let docket = Arc::clone(docket);
    let done = tokio::task::spawn_blocking(move || ask(&*docket)).await;
    done.unwrap_or_else(|_| Err(DocketError::Disk("the work ended".to_owned())))
}

#[cfg(test)]
mod tests;
