//! A picture of a run: verdicts over time, all of them and by flow, as SVG.

mod draw;
mod timeline;

use crate::clock;
use crate::failure::Failure;
use crate::records::Finding;
use crate::records::flows::Flows;
use crate::report;
use std::path::Path;
use timeline::{Axis, INVALID, Lane};

/// Most flows that are told apart: up to 60 MB. All others are one lane.
const FLOWS_MAX: usize = 4096;

/// Most flows with a lane of their own.
const LANES_MAX: usize = 20;

/// What was seen so far.
pub struct Plot {
    axis: Axis,
    all: Lane,
    flows: Flows<Lane>,
    without_time: u64,
}

/// A lane and what it is called.
struct Named<'a> {
    name: String,
    lane: &'a Lane,
}

impl Default for Plot {
    fn default() -> Self {
        Self {
            axis: Axis::default(),
            all: Lane::default(),
            flows: Flows::new(FLOWS_MAX),
            without_time: 0,
        }
    }
}

impl Plot {
    /// Takes a packet in.
    pub fn take(&mut self, finding: &Finding<'_>) {
        let (time, verdict) = (finding.info.time_ns, finding.conclusion.verdict);
        match time {
            Some(time) => self.axis.reach(time),
            None => self.without_time += 1,
        }
        self.all.count(&self.axis, time, verdict);
        let lane = self.flows.of(finding.flow.as_ref());
        lane.count(&self.axis, time, verdict);
    }

    /// The picture of this capture.
    pub fn svg(&self, capture: &Path) -> Result<String, Failure> {
        let (lanes, hidden) = self.lanes();
        let mut notes = Vec::new();
        if hidden > 0 {
            notes.push(format!("{hidden} smaller flows are not shown"));
        }
        if self.without_time > 0 {
            notes.push(format!("{} packets have no time", self.without_time));
        }
        let picture = draw::Picture {
            title: capture.display().to_string(),
            start: clock::rfc3339(self.axis.start()),
            notes,
            axis: self.axis,
            all: &self.all,
            lanes: &lanes,
        };
        picture
            .svg()
            .map_err(|e| Failure::new(format!("the plot cannot be drawn: {e}")))
    }

    /// The flows that are invalid most, then the largest, those that were not told apart, and how many are left out.
    fn lanes(&self) -> (Vec<Named<'_>>, usize) {
        let sorted = self
            .flows
            .sorted(|lane| (lane.counts()[INVALID], lane.counts().iter().sum::<u64>()));
        let hidden = sorted.len().saturating_sub(LANES_MAX);
        let shown = sorted.into_iter().take(LANES_MAX);
        let mut lanes: Vec<Named<'_>> = shown
            .map(|(flow, lane)| Named {
                name: report::endpoints(flow),
                lane,
            })
            .collect();
        for (name, lane) in [
            ("other flows", self.flows.others()),
            ("packets without a flow", self.flows.without()),
        ] {
            if lane.counts().iter().any(|count| *count > 0) {
                let name = name.to_owned();
                lanes.push(Named { name, lane });
            }
        }
        (lanes, hidden)
    }
}
