//! Where a service is, and whose key it has.

use super::Pin;
use reqwest::Url;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use thiserror::Error;

/// The address of a service: `https://HOST:PORT/` or, with the fingerprint of its key behind it,
/// `https://HOST:PORT/#SHA256:...`. Without a fingerprint the certificate has to be one that the
/// system's authorities vouch for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceUrl {
    base: Url,
    pin: Option<Pin>,
}

/// Why a text is not the address of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum UrlError {
    /// Not `https://HOST:PORT/`.
    #[error("not an address like https://HOST:PORT/#SHA256:...")]
    Layout,
    /// Without encryption, and to another host.
    #[error("http:// is only for this host (127.0.0.1, ::1, localhost): use https://")]
    Clear,
    /// What stands behind the `#`.
    #[error("not a fingerprint like SHA256:... behind the #")]
    Pin,
}

impl ServiceUrl {
    /// The address of a service at `authority` (`HOST:PORT`), with its key's pin.
    ///
    /// # Errors
    /// [`UrlError::Layout`].
    pub fn pinned(authority: &str, pin: Pin) -> Result<Self, UrlError> {
        let base = Url::parse(&format!("https://{authority}/")).map_err(|_| UrlError::Layout)?;
        Ok(Self {
            base,
            pin: Some(pin),
        })
    }

    /// The pin, if it has one.
    pub fn pin(&self) -> Option<Pin> {
        self.pin
    }

    /// The address of a service that stands below this one, with the same key. `path` is relative.
    ///
    /// # Errors
    /// [`UrlError::Layout`] if the path leads elsewhere.
    pub fn below(&self, path: &str) -> Result<Self, UrlError> {
        let base = self.join(path)?;
        Ok(Self {
            base,
            pin: self.pin,
        })
    }

    /// The URL of a path below it. `path` is relative, as `feed/head?after=3`.
    ///
    /// # Errors
    /// [`UrlError::Layout`] if the path leads elsewhere.
    pub fn join(&self, path: &str) -> Result<Url, UrlError> {
        let joined = self.base.join(path).map_err(|_| UrlError::Layout)?;
        match joined.as_str().starts_with(self.base.as_str()) {
            true => Ok(joined),
            false => Err(UrlError::Layout),
        }
    }
}

impl FromStr for ServiceUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        let mut base = Url::parse(text).map_err(|_| UrlError::Layout)?;
        let host = base.host_str().ok_or(UrlError::Layout)?.to_owned();
        let is_plain = base.username().is_empty()
            && base.password().is_none()
            && base.query().is_none()
            && !base.cannot_be_a_base();
        match base.scheme() {
            "https" if is_plain => {}
            "http" if is_plain && is_here(&host) => {}
            "http" => return Err(UrlError::Clear),
            _ => return Err(UrlError::Layout),
        }
        let pin = base.fragment().map(|pin| pin.parse());
        let pin = pin.transpose().map_err(|()| UrlError::Pin)?;
        base.set_fragment(None);
        if !base.path().ends_with('/') {
            let path = format!("{}/", base.path());
            base.set_path(&path);
        }
        Ok(Self { base, pin })
    }
}

impl fmt::Display for ServiceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pin {
            Some(pin) => write!(f, "{}#{pin}", self.base),
            None => write!(f, "{}", self.base),
        }
    }
}

fn is_here(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIN: &str = "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU";

    #[test]
    fn addresses_are_read_and_written() {
        let text = format!("https://host:4911/#{PIN}");
        let read: ServiceUrl = text.parse().unwrap();
        assert_eq!(read.to_string(), text);
        assert_eq!(read.pin(), Some(Pin::of(b"")));
        let below = read.join("feed/head?after=3").unwrap();
        assert_eq!(below.as_str(), "https://host:4911/feed/head?after=3");
        let under: ServiceUrl = "https://host/clew".parse().unwrap();
        assert_eq!(
            under.join("log/checkpoint").unwrap().path(),
            "/clew/log/checkpoint"
        );
        assert_eq!(under.join("/checkpoint"), Err(UrlError::Layout));
        assert_eq!(under.join("//other/"), Err(UrlError::Layout));
        assert_eq!(under.join("../x"), Err(UrlError::Layout));
    }

    #[test]
    fn other_texts_are_refused() {
        let bad = [
            ("", UrlError::Layout),
            ("host:4911", UrlError::Layout),
            ("ftp://host/", UrlError::Layout),
            ("https://user@host/", UrlError::Layout),
            ("https://host/?a", UrlError::Layout),
            ("http://host/", UrlError::Clear),
            ("http://127.0.0.1.example/", UrlError::Clear),
            ("https://host/#", UrlError::Pin),
            ("https://host/#SHA256:AA", UrlError::Pin),
        ];
        for (text, error) in bad {
            assert_eq!(text.parse::<ServiceUrl>(), Err(error), "{text}");
        }
        for here in [
            "http://127.0.0.1:1/",
            "http://[::1]:1/",
            "http://localhost:1/",
        ] {
            assert!(here.parse::<ServiceUrl>().is_ok(), "{here}");
        }
    }
}
