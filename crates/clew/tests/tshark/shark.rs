//! tshark with the dissector, and the other programs of Wireshark.

use crate::folder::Folder;
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

const DISSECTOR: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../contrib/wireshark/clew.lua"
);

/// What is asked for of each packet: all that the dissector can show, and a little besides.
pub const FIELDS: [&str; 69] = [
    "clew.carrier.magic",
    "clew.carrier.type",
    "clew.carrier.has_cookie",
    "clew.carrier.length",
    "clew.carrier.protocol",
    "clew.cookie",
    "clew.cookie.echo",
    "clew.fragment.id",
    "clew.fragment.index",
    "clew.fragment.count",
    "clew.fragment.part",
    "clew.fragment.packet_in",
    "ip.len",
    "ip.dst",
    "ipv6.plen",
    "ipv6.dst",
    "udp.srcport",
    "clew.signature",
    "clew.code.k",
    "clew.code.share",
    "clew.code.tag",
    "clew.block.id",
    "clew.block.index",
    "clew.block.count",
    "clew.block.digest",
    "clew.block.depth",
    "clew.block.path",
    "clew.window.k",
    "clew.window.h",
    "clew.saved.ipv4_checksum",
    "clew.saved.udp_length",
    "clew.saved.l4_checksum",
    "clew.group",
    "clew.epoch",
    "clew.timestamp",
    "clew.scheme",
    "clew.carriage",
    "clew.flags",
    "clew.flags.nat",
    "clew.flags.tolerant",
    "clew.flags.ipv4_checksum",
    "clew.flags.udp_length",
    "clew.flags.l4_checksum",
    "clew.flags.incremental",
    "clew.flags.reserved",
    "clew.mode",
    "clew.length",
    "clew.version",
    "clew.magic",
    "clew.mark.count",
    "clew.mark.length",
    "clew.mark.flags",
    "clew.mark.saved.ipv4_checksum",
    "clew.mark.saved.udp_length",
    "clew.mark.saved.l4_checksum",
    "clew.verdict",
    "clew.reason",
    "clew.malformed",
    "clew.invalid",
    "clew.undecided",
    "clew.unsigned",
    "clew.remark",
    "frame.comment",
    "frame.coloring_rule.name",
    "_ws.expert.message",
    "_ws.col.Info",
    "_ws.lua.error",
    "frame.number",
    "frame.len",
];

/// The fields of one frame that are there.
pub type Shown = BTreeMap<&'static str, String>;

/// Says, and shows, that a test cannot run here.
pub fn missing(program: &str) -> bool {
    let missing = Command::new(program).arg("--version").output().is_err();
    if missing {
        crate::skipped::skipped("tshark, editcap and mergecap");
    }
    missing
}

impl Folder {
    /// Runs a program of Wireshark to its success.
    pub fn tool(&self, program: &str, arguments: &[&str]) -> String {
        let output = Command::new(program)
            .args(arguments)
            .current_dir(self.0.path())
            // Profiles and plugins of whoever runs the tests stay out of them.
            .env("HOME", self.0.path())
            .env("XDG_CONFIG_HOME", self.path("config"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program} {arguments:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn tshark(&self, name: &str, more: &[&str]) -> String {
        let script = format!("lua_script:{DISSECTOR}");
        let all = ["-n", "-X", &script, "-r", name];
        self.tool("tshark", &[&all, more].concat())
    }

    /// The fields that the dissector registers where it is installed as a plugin.
    pub fn registered(&self) -> Vec<String> {
        let plugins = self.path(".local/lib/wireshark/plugins");
        fs::create_dir_all(&plugins).unwrap();
        fs::copy(DISSECTOR, plugins.join("clew.lua")).unwrap();
        let out = self.tool("tshark", &["-G", "fields"]);
        let fields = out.lines().filter(|line| line.starts_with("F\t"));
        let names = fields.filter_map(|line| line.split('\t').nth(2));
        let ours = names.filter(|name| name.starts_with("clew."));
        ours.map(str::to_owned).collect()
    }

    /// The fields of each frame, coloured by the rules in `config` if there are any.
    pub fn fields(&self, name: &str) -> Vec<Shown> {
        self.fields_with(name, &[])
    }

    fn fields_with(&self, name: &str, more: &[&'static str]) -> Vec<Shown> {
        let mut arguments = vec!["--color", "-T", "fields", "-E", "occurrence=a"];
        arguments.extend(more);
        arguments.extend(FIELDS.iter().flat_map(|field| ["-e", field]));
        let out = self.tshark(name, &arguments);
        let frames: Vec<Shown> = out.lines().map(shown).collect();
        for frame in &frames {
            assert!(!frame.contains_key("_ws.lua.error"), "{name}: {frame:?}");
        }
        frames
    }

    /// The same after a first pass over the whole file, as Wireshark shows it.
    pub fn fields_in_two_passes(&self, name: &str) -> Vec<Shown> {
        self.fields_with(name, &["-2"])
    }

    /// The numbers of the frames that a display filter selects.
    pub fn filtered(&self, name: &str, filter: &str) -> Vec<usize> {
        let out = self.tshark(name, &["-Y", filter, "-T", "fields", "-e", "frame.number"]);
        out.lines().map(|line| line.parse().unwrap()).collect()
    }
}

fn shown(line: &str) -> Shown {
    let values = FIELDS.into_iter().zip(line.split('\t'));
    let there = values.filter(|(_, value)| !value.is_empty());
    there
        .map(|(name, value)| (name, value.to_owned()))
        .collect()
}
