//! The host's own addresses change: routes follow, since each names the address that packets come from.

use super::{Force, Routing};
use crate::config::{Config, InboundMode};
use crate::setup::plan::{loosen, route_commands};
use crate::setup::programs::{act, batch};
use crate::setup::{Action, Programs, Route, SetupError, Step, facts, own_networks};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::net::IpAddr;

/// Where packets to a prefix come from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Source {
    /// The address at first.
    first: Option<IpAddr>,
    /// The address now.
    now: Option<IpAddr>,
    /// The prefix whose packets had an address to come from, which the host has no more.
    lost: Option<String>,
}

impl Source {
    /// The source of a route.
    pub fn of(route: &Option<Route>) -> Self {
        let first = route.as_ref().and_then(|route| route.source);
        Self {
            first,
            now: first,
            lost: None,
        }
    }

    /// The source from now on. It stays as long as the host has the address, whatever the ways: peers know it.
    /// So it does not change when a link is down for a while, and comes back with its address.
    fn next(&self, prefix: &str, found: Option<IpAddr>, own: Option<&BTreeSet<IpAddr>>) -> Self {
        let is_own = |address: &IpAddr| own.is_none_or(|own| own.contains(address));
        let known = [self.first, self.now].into_iter().flatten().find(is_own);
        let now = known.or(found);
        let is_lost = now.is_none() && (self.now.is_some() || self.lost.is_some());
        Self {
            first: self.first.or(now),
            now,
            lost: is_lost.then(|| prefix.to_owned()),
        }
    }
}

impl Force {
    /// Looks where packets to peers come from now, and changes routes that say otherwise. Returns whether
    /// anything changed, and steps that a new way to a peer needs.
    ///
    /// # Errors
    /// `ip` fails.
    pub fn follow(
        &mut self,
        config: &Config,
        with: &Programs,
    ) -> Result<(bool, Vec<Step>), SetupError> {
        let routes = facts::routes(config, with, Some(config.table))?;
        let own = own_networks();
        let own = own.map(|own| {
            own.iter()
                .map(|(_, net)| net.addr())
                .collect::<BTreeSet<_>>()
        });
        let outside = |route: &Route| route.device != config.interface;
        let found = routes
            .iter()
            .map(|route| route.as_ref().filter(|route| outside(route)));
        let found = found.map(|route| route.and_then(|route| route.source));
        let nothing = Source::default();
        let before = |at: usize| self.sources.get(at).unwrap_or(&nothing);
        let prefixes = config.prefixes().map(ToString::to_string).enumerate();
        let sources = prefixes.zip(found);
        let sources =
            sources.map(|((at, prefix), found)| before(at).next(&prefix, found, own.as_ref()));
        let sources: Vec<Source> = sources.collect();
        let loosened = self.loosen(config, &routes);
        if sources == self.sources {
            return Ok((false, loosened));
        }
        self.change_routes(config, with, sources)?;
        Ok((true, loosened))
    }

    fn change_routes(
        &mut self,
        config: &Config,
        with: &Programs,
        sources: Vec<Source>,
    ) -> Result<(), SetupError> {
        let addresses: Vec<_> = sources.iter().map(|source| source.now).collect();
        let lists = route_commands(config, &addresses);
        let of = |verb: &str| -> Vec<Action> {
            let lists = lists.iter().filter(|(_, routes)| !routes.is_empty());
            let list = lists.map(|(family, routes)| {
                let commands = routes.iter().map(|route| format!("route {verb} {route}"));
                batch(&with.ip, family, true, &commands.collect::<Vec<_>>())
            });
            list.collect()
        };
        of("replace").iter().try_for_each(act)?;
        self.routes = of("add");
        self.sources = sources;
        self.see(with, Routing::is_of_routes)
    }

    /// Steps for reverse path filters of ways that were not there before.
    fn loosen(&self, config: &Config, routes: &[Option<Route>]) -> Vec<Step> {
        if config.inbound == InboundMode::Enforce {
            return Vec::new();
        }
        let mut strict = facts::strict(routes);
        strict.retain(|(path, _)| self.settings.iter().all(|(known, _)| known != path));
        loosen(&strict)
    }

    /// Takes note of settings that were made since.
    pub fn has_made(&mut self, steps: &[Step]) {
        let written = steps.iter().filter_map(|step| match &step.action {
            Action::Write { path, text } => Some((path.clone(), text.clone())),
            Action::Run { .. } | Action::Queue { .. } => None,
        });
        self.settings.extend(written);
    }

    /// Says for which prefixes the host has no address any more.
    pub(super) fn lost(&self) -> Option<String> {
        let lost = self
            .sources
            .iter()
            .filter_map(|source| source.lost.as_deref());
        let lost: Vec<&str> = lost.collect();
        let [first, others @ ..] = lost.as_slice() else {
            return None;
        };
        let others = match others.len() {
            0 => String::new(),
            1 => " and 1 other".to_owned(),
            count => format!(" and {count} others"),
        };
        Some(format!("no own address for packets to {first}{others}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(source: &Source, found: Option<IpAddr>, own: &BTreeSet<IpAddr>) -> Source {
        source.next("10.0.0.2/32", found, Some(own))
    }

    #[test]
    fn a_source_changes_only_when_the_host_has_it_no_more() {
        let [old, new]: [IpAddr; 2] = ["10.0.0.1", "10.0.0.9"].map(|ip| ip.parse().unwrap());
        let [both, only_new, none] = [vec![old, new], vec![new], vec![]].map(BTreeSet::from_iter);
        let source = Source {
            first: Some(old),
            now: Some(old),
            lost: None,
        };
        assert_eq!(next(&source, None, &both), source, "the link is down");
        assert_eq!(next(&source, Some(new), &both), source, "another way");
        let changed = next(&source, Some(new), &only_new);
        assert_eq!((changed.now, &changed.lost), (Some(new), &None));
        assert_eq!(next(&changed, None, &only_new), changed);
        assert_eq!(next(&changed, Some(new), &both), source, "it is back");
        let lost = next(&changed, None, &none);
        assert_eq!(lost.lost.as_deref(), Some("10.0.0.2/32"));
        assert_eq!(next(&lost, None, &none), lost, "it stays lost");
        assert_eq!(next(&lost, None, &both), source);
        let never = Source::default();
        assert_eq!(next(&never, None, &none), never, "there never was one");
        assert_eq!(next(&never, Some(new), &only_new).now, Some(new));
    }
}
