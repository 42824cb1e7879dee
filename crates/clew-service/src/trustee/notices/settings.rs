//! The settings of notices: a file that the operator writes.

use crate::http::{ServiceUrl, UrlError};
use serde::Deserialize;
use std::path::Path;
use std::time::Duration;
use thiserror::Error;
use zeroize::Zeroizing;

/// Longest settings, in bytes.
pub const SETTINGS_BYTES_MAX: usize = 16 << 10;
/// Longest password, in bytes.
const PASSWORD_MAX: usize = 1 << 10;
/// Most readers of a mail.
const READERS_MAX: usize = 16;

/// Why settings were not read.
#[derive(Debug, Error)]
pub enum SettingsError {
    /// It is not TOML, or has a key or a value that settings do not have.
    #[error("{0}")]
    Toml(String),
    /// A value is not allowed.
    #[error("{key}: {why}")]
    Value {
        /// The key.
        key: &'static str,
        /// What is wrong.
        why: String,
    },
}

/// How, when and to whom notices are sent.
#[derive(Clone, Debug)]
pub struct Settings {
    /// At most one notice in so long.
    pub every: Duration,
    /// Pause behind the first attempt that failed. Each further one is twice as long.
    pub retry: Duration,
    /// Longest wait for one attempt.
    pub timeout: Duration,
    pub(super) webhook: Option<Hook>,
    pub(super) mail: Option<MailSettings>,
}

/// A webhook: the service, and the path behind it, which may be secret.
#[derive(Clone)]
pub(super) struct Hook {
    pub(super) base: ServiceUrl,
    pub(super) path: String,
}

/// A mail server, and whom to write to.
#[derive(Clone)]
pub(super) struct MailSettings {
    /// `https` stands for TLS from the first byte, `http` for none.
    pub(super) server: ServiceUrl,
    pub(super) from: String,
    pub(super) to: Vec<String>,
    pub(super) login: Option<(String, Zeroizing<String>)>,
}

impl std::fmt::Debug for Hook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hook")
    }
}

impl std::fmt::Debug for MailSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MailSettings")
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Raw {
    every: Option<String>,
    retry: Option<String>,
    timeout: Option<String>,
    webhook: Option<RawHook>,
    mail: Option<RawMail>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawHook {
    url: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawMail {
    server: String,
    from: String,
    to: Vec<String>,
    user: Option<String>,
    password_file: Option<String>,
}

impl Settings {
    /// Reads settings. `password` reads a file that they name.
    ///
    /// # Errors
    /// [`SettingsError`], with the key that is wrong.
    pub fn parse(
        text: &str,
        password: impl Fn(&Path) -> Result<Zeroizing<String>, String>,
    ) -> Result<Self, SettingsError> {
        if text.len() > SETTINGS_BYTES_MAX {
            return Err(SettingsError::Toml("longer than 16 KiB".to_owned()));
        }
        let raw: Raw = toml::from_str(text).map_err(|e| SettingsError::Toml(e.to_string()))?;
        if raw.webhook.is_none() && raw.mail.is_none() {
            return value("webhook", "need [webhook] or [mail]");
        }
        let hook = |raw: RawHook| hook(&raw.url);
        let mail = |raw: RawMail| mail(raw, &password);
        Ok(Self {
            every: time("every", raw.every, 300, 86_400)?,
            retry: time("retry", raw.retry, 60, 3_600)?,
            timeout: time("timeout", raw.timeout, 20, 60)?,
            webhook: raw.webhook.map(hook).transpose()?,
            mail: raw.mail.map(mail).transpose()?,
        })
    }
}

fn value<T>(key: &'static str, why: impl Into<String>) -> Result<T, SettingsError> {
    let why = why.into();
    Err(SettingsError::Value { key, why })
}

/// From `1s` to a maximum, in seconds.
fn time(
    key: &'static str,
    text: Option<String>,
    default: u64,
    most: u64,
) -> Result<Duration, SettingsError> {
    let Some(text) = text else {
        return Ok(Duration::from_secs(default));
    };
    let unit = |unit: &str| text.strip_suffix(unit).and_then(|n| n.parse::<u64>().ok());
    let seconds = match (unit("s"), unit("m"), unit("h")) {
        (Some(seconds), _, _) => Some(seconds),
        (_, Some(minutes), _) => minutes.checked_mul(60),
        (_, _, Some(hours)) => hours.checked_mul(3_600),
        _ => None,
    };
    match seconds {
        Some(seconds) if (1..=most).contains(&seconds) => Ok(Duration::from_secs(seconds)),
        _ => value(key, format!("need 1s to {most}s, as 30s or 5m")),
    }
}

/// A service, and the last part of its path. An address may have a fingerprint behind a `#`.
fn hook(text: &str) -> Result<Hook, SettingsError> {
    let bad = |error: UrlError| SettingsError::Value {
        key: "webhook.url",
        why: error.to_string(),
    };
    let (address, pin) = match text.split_once('#') {
        Some((address, pin)) => (address, format!("#{pin}")),
        None => (text, String::new()),
    };
    let path_end = address.find('?').unwrap_or(address.len());
    let host = address.find("://").map_or(0, |at| at + 3);
    let cut = address.get(host..path_end).and_then(|own| own.rfind('/'));
    let (base, path) = match cut {
        Some(at) => address.split_at(host + at + 1),
        None => (address, ""),
    };
    let base: ServiceUrl = format!("{base}{pin}").parse().map_err(bad)?;
    base.join(path).map_err(bad)?;
    let path = path.to_owned();
    Ok(Hook { base, path })
}

fn mail(
    raw: RawMail,
    password: impl Fn(&Path) -> Result<Zeroizing<String>, String>,
) -> Result<MailSettings, SettingsError> {
    let server = match raw.server.split_once("://") {
        Some(("smtps", rest)) => format!("https://{rest}"),
        Some(("smtp", rest)) => format!("http://{rest}"),
        _ => return value("mail.server", "need smtps://HOST, or smtp:// to this host"),
    };
    let server = server.parse::<ServiceUrl>();
    let server = server.or_else(|error| match error {
        UrlError::Clear => value("mail.server", "smtp:// is only for this host: use smtps://"),
        other => value("mail.server", other.to_string()),
    })?;
    if raw.to.is_empty() || raw.to.len() > READERS_MAX {
        return value("mail.to", format!("need 1 to {READERS_MAX} addresses"));
    }
    let login = match (raw.user, raw.password_file) {
        (None, None) => None,
        (Some(user), Some(file)) => {
            let secret = password(Path::new(&file));
            let secret = secret.or_else(|why| value("mail.password-file", why))?;
            let line = Zeroizing::new(secret.trim_end_matches(['\r', '\n']).to_owned());
            if line.is_empty() || line.len() > PASSWORD_MAX {
                return value("mail.password-file", "need one line of at most 1 KiB");
            }
            Some((user, line))
        }
        _ => return value("mail.user", "need both user and password-file"),
    };
    Ok(MailSettings {
        server,
        from: raw.from,
        to: raw.to,
        login,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Settings, String> {
        let password = |path: &Path| match path.to_str() {
            Some("there") => Ok(Zeroizing::new("secret\n".to_owned())),
            _ => Err("not there".to_owned()),
        };
        Settings::parse(text, password).map_err(|error| error.to_string())
    }

    #[test]
    fn a_webhook_is_a_service_and_a_path() {
        for (text, base, path) in [
            ("https://h.example/a/b/c", "https://h.example/a/b/", "c"),
            ("https://h.example/a?k=1/2", "https://h.example/", "a?k=1/2"),
            ("https://h.example", "https://h.example/", ""),
            ("http://127.0.0.1:8/x", "http://127.0.0.1:8/", "x"),
        ] {
            let hook = hook(text).unwrap();
            assert_eq!((hook.base.to_string().as_str(), &*hook.path), (base, path));
        }
        for bad in [
            "http://h.example/a",
            "ftp://h",
            "h.example",
            "https://u:p@h/",
        ] {
            assert!(hook(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn every_wrong_value_is_named() {
        let mail = "[mail]\nserver='smtps://m.example'\nfrom='a@b'\nto=['c@d']\n";
        let settings = read(&format!(
            "every='5m'\n{mail}user='u'\npassword-file='there'\n"
        ));
        let settings = settings.unwrap();
        assert_eq!(settings.every, Duration::from_secs(300));
        let (user, password) = settings.mail.unwrap().login.unwrap();
        assert_eq!((&*user, password.as_str()), ("u", "secret"));
        for (text, said) in [
            ("", "need [webhook] or [mail]"),
            ("spam=1", "unknown field"),
            ("every='0s'\n[webhook]\nurl='https://h/'", "every: need 1s"),
            (
                "timeout='1h'\n[webhook]\nurl='https://h/'",
                "timeout: need 1s to 60s",
            ),
            (
                "[webhook]\nurl='http://h.example/'",
                "webhook.url: http:// is only",
            ),
            (
                "[mail]\nserver='smtp://m.example'\nfrom=''\nto=['a']",
                "use smtps://",
            ),
            (
                "[mail]\nserver='smtps://m'\nfrom=''\nto=[]",
                "mail.to: need 1 to 16",
            ),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
        let half = read(&format!("{mail}user='u'\n")).unwrap_err();
        assert!(half.contains("both user and password-file"), "{half}");
        let gone = read(&format!("{mail}user='u'\npassword-file='gone'\n")).unwrap_err();
        assert!(gone.contains("password-file: not there"), "{gone}");
    }
}
