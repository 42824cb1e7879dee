//! Whether a set-up is still in force: others flush rule sets, rules and routes, and take links down.

mod follow;

use super::{Action, Facts, Plan, Programs, SetupError, programs, ruleset};
use crate::config::Config;
use follow::Source;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Words in a line of `ip route` that say what the link does now.
const PASSING: [&str; 3] = [" linkdown", " dead", " offload"];

/// What a set-up looks like in force, and what makes it again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Force {
    filter: Option<Filter>,
    routing: Vec<Routing>,
    /// The interface and its settings.
    #[serde(default)]
    interface: Vec<Action>,
    #[serde(default)]
    routes: Vec<Action>,
    /// Rules. Earlier programs have the settings of the interface and the routes here, too.
    steps: Vec<Action>,
    /// Settings of the kernel, and what they are to say.
    #[serde(default)]
    settings: Vec<(PathBuf, String)>,
    /// Where packets to each prefix come from, in their order.
    #[serde(default)]
    sources: Vec<Source>,
}

/// The table of nftables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Filter {
    table: String,
    /// What it looks like, without counts.
    text: String,
    /// What makes it.
    steps: Vec<Action>,
}

/// One list of `ip`: rules or routes of a family.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Routing {
    what: String,
    arguments: Vec<String>,
    /// Preferences of the own rules. Empty for routes, which have a table of their own.
    preferences: Vec<u32>,
    lines: Vec<String>,
}

impl Force {
    /// Reads what a plan looks like that was just carried out.
    ///
    /// # Errors
    /// `ip` or `nft` fails.
    pub fn read(config: &Config, facts: &Facts, plan: &Plan) -> Result<Self, SetupError> {
        let with = &facts.programs;
        let of_filter = |action: &&Action| match action {
            Action::Run { program, .. } => Some(program) == with.nft.as_ref(),
            Action::Queue { .. } => true,
            Action::Write { .. } => false,
        };
        let capture = || plan.capture.iter().map(|step| &step.action);
        let filter: Vec<Action> = capture().filter(of_filter).cloned().collect();
        let table = ruleset::table(config);
        let filter = match filter.is_empty() {
            true => None,
            false => Some(Filter {
                text: shape(with, &table)?,
                table,
                steps: filter,
            }),
        };
        let by_ip = |object: &'static str| {
            let begins = move |action: &&Action| {
                matches!(action, Action::Run { program, input, .. }
                    if *program == with.ip && input.starts_with(object))
            };
            capture().filter(begins).cloned().collect()
        };
        let settings = capture().filter_map(|action| match action {
            Action::Write { path, text } => Some((path.clone(), text.clone())),
            Action::Run { .. } | Action::Queue { .. } => None,
        });
        let mut force = Self {
            filter,
            routing: lists(config.table),
            interface: plan
                .prepare
                .iter()
                .map(|step| step.action.clone())
                .collect(),
            routes: by_ip("route"),
            steps: by_ip("rule"),
            settings: settings.collect(),
            sources: facts.routes.iter().map(Source::of).collect(),
        };
        force.see(with, |_| true)?;
        Ok(force)
    }

    /// Takes what lists look like now for what they have to look like.
    fn see(&mut self, with: &Programs, which: fn(&Routing) -> bool) -> Result<(), SetupError> {
        for list in self.routing.iter_mut().filter(|list| which(list)) {
            list.lines = match list.ask(with) {
                // A family without peers has no table.
                Err(error) if programs::is_gone(&error) => Vec::new(),
                asked => asked?,
            };
        }
        Ok(())
    }

    /// Says what is not there any more, or not as it was. What cannot be read is not known to be gone.
    pub fn missing(&self, with: &Programs) -> Vec<String> {
        let filter = self.filter.iter().filter(|filter| filter.is_gone(with));
        let filter = filter.map(|filter| format!("nftables' table inet {}", filter.table));
        let lists = self.routing.iter().filter(|list| list.is_gone(with));
        let lists = lists.map(|list| list.what.clone());
        let settings = self.changed_settings();
        let settings = settings.map(|(path, _)| path.display().to_string());
        filter
            .chain(lists)
            .chain(settings)
            .chain(self.lost())
            .collect()
    }

    /// Settings that say something else. Those of an interface that is gone are gone with it.
    fn changed_settings(&self) -> impl Iterator<Item = &(PathBuf, String)> {
        let is_other = |(path, text): &&(PathBuf, String)| {
            fs::read_to_string(path).is_ok_and(|found| found.trim() != text)
        };
        self.settings.iter().filter(is_other)
    }

    /// Makes what is gone again. The filter changes in one step, so nothing passes meanwhile.
    ///
    /// # Errors
    /// The first that fails; the others are made.
    pub fn restore(&self, with: &Programs) -> Result<(), SetupError> {
        let mut failed = Ok(());
        if let Some(filter) = self.filter.iter().find(|filter| filter.is_gone(with)) {
            let mut steps = filter.steps.iter();
            failed = steps.try_for_each(|step| programs::act(&filter.again(step)));
        }
        if self.routing.iter().any(|list| list.is_gone(with)) {
            let link = self
                .interface
                .iter()
                .filter(|action| !makes_interface(action));
            for step in link.chain(&self.routes).chain(&self.steps) {
                failed = failed.and(programs::act_again(step));
            }
        }
        for (path, text) in self.changed_settings() {
            let (path, text) = (path.clone(), text.clone());
            failed = failed.and(programs::act(&Action::Write { path, text }));
        }
        failed
    }

    /// Makes the interface again, and the routes through it, which went with it.
    ///
    /// # Errors
    /// A step fails.
    pub fn make_interface(&self) -> Result<(), SetupError> {
        let mut steps = self.interface.iter().chain(&self.routes);
        steps.try_for_each(programs::act_again)
    }
}

fn makes_interface(action: &Action) -> bool {
    matches!(action, Action::Run { arguments, .. } if arguments.first().is_some_and(|word| word == "tuntap"))
}

impl Filter {
    fn is_gone(&self, with: &Programs) -> bool {
        match shape(with, &self.table) {
            Ok(text) => text != self.text,
            Err(error) => programs::is_gone(&error),
        }
    }

    /// The same step, in place of what is left of the table.
    fn again(&self, step: &Action) -> Action {
        let mut step = step.clone();
        if let Action::Run { input, .. } = &mut step {
            let table = &self.table;
            *input = format!("table inet {table} {{ }}\ndelete table inet {table}\n{input}");
        }
        step
    }
}

impl Routing {
    fn is_of_routes(&self) -> bool {
        self.preferences.is_empty()
    }

    fn ask(&self, with: &Programs) -> Result<Vec<String>, SetupError> {
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        let text = programs::ask(&with.ip, &arguments)?;
        let is_own = |line: &&str| {
            let preference = line.split(':').next().and_then(|word| word.parse().ok());
            self.is_of_routes() || preference.is_some_and(|p| self.preferences.contains(&p))
        };
        let lasting = |line: &str| {
            let line = PASSING
                .iter()
                .fold(line.to_owned(), |line, word| line.replace(word, ""));
            line.trim_end().to_owned()
        };
        Ok(text.lines().filter(is_own).map(lasting).collect())
    }

    /// Lines that others added are theirs.
    fn is_gone(&self, with: &Programs) -> bool {
        match self.ask(with) {
            Ok(now) => {
                let now: BTreeSet<String> = now.into_iter().collect();
                !self.lines.iter().all(|line| now.contains(line))
            }
            Err(error) => programs::is_gone(&error) && !self.lines.is_empty(),
        }
    }
}

fn lists(table: u32) -> Vec<Routing> {
    let list = |family: &str, rest: &str, what: String, preferences: Vec<u32>| Routing {
        what,
        arguments: [family]
            .into_iter()
            .chain(rest.split(' '))
            .map(str::to_owned)
            .collect(),
        preferences,
        lines: Vec::new(),
    };
    let mut lists = Vec::new();
    for (family, name) in [("-4", "IPv4"), ("-6", "IPv6")] {
        let own = (table..table + 3).collect();
        lists.push(list(
            family,
            "rule show",
            format!("{name} rules {table} to {}", table + 2),
            own,
        ));
        lists.push(list(
            family,
            &format!("route show table {table}"),
            format!("{name} routes of table {table}"),
            Vec::new(),
        ));
    }
    lists
}

/// What a table looks like, without counts, and without what packets wrote into it.
fn shape(with: &Programs, table: &str) -> Result<String, SetupError> {
    let nft = with.nft.as_deref().unwrap_or(Path::new("/usr/sbin/nft"));
    let text = programs::ask(nft, &["-s", "list", "table", "inet", table])?;
    let mut kept = String::new();
    let mut is_dynamic = false;
    for line in text.lines() {
        is_dynamic |= line.starts_with("\tset asked");
        if !is_dynamic {
            kept.push_str(line);
            kept.push('\n');
        }
        is_dynamic &= line != "\t}";
    }
    Ok(kept)
}
