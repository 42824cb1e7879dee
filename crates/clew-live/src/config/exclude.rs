//! Rules of `exclude`: traffic that is never captured, as `tcp/22 from 10.0.0.0/8`.

use ipnet::IpNet;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// What a rule of `exclude` looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// All packets.
    Any,
    /// ICMP, in both versions.
    Icmp,
    /// TCP with this port at either end.
    Tcp(u16),
    /// UDP with this port at either end.
    Udp(u16),
}

/// Traffic with a remote network that is never captured, signed or dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exclude {
    /// Which packets.
    pub protocol: Protocol,
    /// The other end. `None` if it is anywhere.
    pub from: Option<IpNet>,
}

/// A text that is not a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotARule;

impl FromStr for Exclude {
    type Err = NotARule;

    fn from_str(text: &str) -> Result<Self, NotARule> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (protocol, from) = match *words.as_slice() {
            [protocol] => (protocol, None),
            [protocol, "from", net] => (protocol, Some(network(net)?)),
            _ => return Err(NotARule),
        };
        let port = |text: &str| text.parse().ok().filter(|p| *p > 0).ok_or(NotARule);
        let protocol = match protocol.split_once('/') {
            None if protocol == "any" && from.is_some() => Protocol::Any,
            None if protocol == "icmp" => Protocol::Icmp,
            Some(("tcp", number)) => Protocol::Tcp(port(number)?),
            Some(("udp", number)) => Protocol::Udp(port(number)?),
            _ => return Err(NotARule),
        };
        Ok(Self { protocol, from })
    }
}

fn network(text: &str) -> Result<IpNet, NotARule> {
    let address = || text.parse::<IpAddr>().map(IpNet::from);
    let net: IpNet = text.parse().or_else(|_| address()).map_err(|_| NotARule)?;
    (net == net.trunc()).then_some(net).ok_or(NotARule)
}

impl fmt::Display for Exclude {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.protocol {
            Protocol::Any => f.write_str("any")?,
            Protocol::Icmp => f.write_str("icmp")?,
            Protocol::Tcp(port) => write!(f, "tcp/{port}")?,
            Protocol::Udp(port) => write!(f, "udp/{port}")?,
        }
        match self.from {
            Some(from) => write!(f, " from {from}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_and_written() {
        for good in [
            "tcp/22",
            "tcp/22 from 10.0.0.0/8",
            "udp/53 from fd00::/8",
            "icmp",
            "any from 192.0.2.1/32",
        ] {
            assert_eq!(good.parse::<Exclude>().unwrap().to_string(), good);
        }
        let one: Exclude = "any from 192.0.2.1".parse().unwrap();
        assert_eq!(one.to_string(), "any from 192.0.2.1/32");
    }

    #[test]
    fn others_are_refused() {
        for bad in [
            "",
            "any",
            "tcp",
            "tcp/0",
            "tcp/70000",
            "sctp/1",
            "tcp/22 from",
            "tcp/22 to 10.0.0.0/8",
            "tcp/22 from 10.0.0.1/8",
            "tcp/22 from host",
            "tcp/22 from 10.0.0.0/8 now",
        ] {
            assert_eq!(bad.parse::<Exclude>(), Err(NotARule), "{bad}");
        }
    }
}
