//! A group's transparency log: `clew log`.

use super::{NewFile, Salt, parse_address};
use crate::secrets::{Seal, Unlock};
use clap::{Args, Subcommand};
use clew_evidence::Name;
use clew_log::VerifierKey;
use clew_service::http::ServiceUrl;
use std::net::SocketAddr;
use std::path::PathBuf;

const EXAMPLE: &str = "\
Example:
  clew log create acme.log --origin log.example/acme         prints the log's key (VKEY)
  clew log bind acme.log --group acme/public/group.clew
  clew log create-witness seen --name witness.example        on another host, by others
  clew log witness seen --listen 192.0.2.2:4914 --log VKEY
  clew log serve acme.log --listen 192.0.2.1:4913 --witness WITNESSKEY=URL
  clew manager admit acme --role requester --key court.pub
  clew log anchor URL today.pcap --group group.clew --key watcher.key -o today.anchor
  clew log verify URL --log VKEY --group group.clew --witness WITNESSKEY --state acme.seen

Exit status: 0 yes or done, 1 the log broke a rule, 2 could not tell, or bad usage";

/// `clew log`
#[derive(Subcommand, Debug)]
#[command(after_help = EXAMPLE)]
pub enum Log {
    /// Generate the key of an author of entries: a trustee, a court, an observer
    Keygen(LogKeygen),
    /// Create a log in a new directory
    Create(LogCreate),
    /// Say which group a new log is of
    Bind(LogBind),
    /// Serve a log: add entries, publish cosigned checkpoints
    Serve(Box<LogServe>),
    /// Create a witness in a new directory
    CreateWitness(LogCreateWitness),
    /// Serve a witness: cosign checkpoints that continue the last one
    Witness(Box<LogWitness>),
    /// Add what waits for a group's log, once, if no clew manager serve does
    Publish(LogPublish),
    /// Add an entry that clew warrant request or clew share --decide wrote
    Add(LogAdd),
    /// Show that a capture exists now, as an observer
    Anchor(Box<LogAnchor>),
    /// Anchor the evidence files of an observer as they appear, and write their proofs beside them
    AnchorRing(Box<LogAnchorRing>),
    /// Write what came of a request, as its author
    Result(Box<LogResult>),
    /// Make a sealed request public
    Unseal(Box<LogUnseal>),
    /// Audit a log, or check a proof
    Verify(Box<LogVerify>),
    /// Count requests, openings and matches
    Count(LogCount),
    /// Write the proof that an entry is in a log, or that a log only grew
    Prove(LogProve),
}

/// `clew log keygen`
#[derive(Args, Debug)]
pub struct LogKeygen {
    /// Name of the author
    pub name: Name,
    /// Where to write.
    #[command(flatten)]
    pub out: NewFile,
    /// File for the public key, too
    #[arg(long, value_name = "FILE")]
    pub public: Option<PathBuf>,
    /// What encrypts the new key.
    #[command(flatten)]
    pub seal: Seal,
}

/// `clew log create`
#[derive(Args, Debug)]
pub struct LogCreate {
    /// Directory to create
    pub dir: PathBuf,
    /// Name of the log, for all time: its address without https://
    #[arg(long, value_name = "NAME")]
    pub origin: Name,
    /// What encrypts the log's key.
    #[command(flatten)]
    pub seal: Seal,
}

/// `clew log bind`
#[derive(Args, Debug)]
pub struct LogBind {
    /// Directory of the log
    pub dir: PathBuf,
    /// Group file
    #[arg(long, value_name = "GROUPFILE")]
    pub group: PathBuf,
}

/// `clew log create-witness`
#[derive(Args, Debug)]
pub struct LogCreateWitness {
    /// Directory to create
    pub dir: PathBuf,
    /// Name of the witness
    #[arg(long)]
    pub name: Name,
    /// What encrypts the witness's key.
    #[command(flatten)]
    pub seal: Seal,
}

/// Where a log listens.
#[derive(Args, Debug)]
pub struct LogListening {
    /// TCP address to listen at
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:4913", value_parser = parse_address)]
    pub listen: SocketAddr,
    /// How clients reach it.
    #[command(flatten)]
    pub reached: Reached,
}

/// Where a witness listens.
#[derive(Args, Debug)]
pub struct WitnessListening {
    /// TCP address to listen at
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:4914", value_parser = parse_address)]
    pub listen: SocketAddr,
    /// How clients reach it.
    #[command(flatten)]
    pub reached: Reached,
}

/// How clients reach a service.
#[derive(Args, Debug)]
pub struct Reached {
    /// Name or address by which clients reach it [default: --listen]
    #[arg(long, value_name = "HOST:PORT")]
    pub address: Option<String>,
}

/// `clew log serve`
#[derive(Args, Debug)]
pub struct LogServe {
    /// Directory of the log
    pub dir: PathBuf,
    /// Where to listen.
    #[command(flatten)]
    pub at: LogListening,
    /// Which witnesses it asks.
    #[command(flatten)]
    pub asked: Asked,
    /// What decrypts the log's key.
    #[command(flatten)]
    pub unlock: Unlock,
}

/// Which witnesses a log asks for cosignatures.
#[derive(Args, Debug)]
pub struct Asked {
    /// Witness of the log to ask, as NAME+ID+KEY=URL (repeatable). The log remembers it
    #[arg(long, value_name = "VKEY=URL", value_parser = parse_witness)]
    pub witness: Vec<(VerifierKey, ServiceUrl)>,
    /// Witness to ask no more (repeatable)
    #[arg(long, value_name = "VKEY")]
    pub without: Vec<VerifierKey>,
    /// Cosignatures that a checkpoint of the log needs to be published [default: of more than half]
    #[arg(long, value_name = "K")]
    pub threshold: Option<usize>,
}

/// `clew log witness`
#[derive(Args, Debug)]
pub struct LogWitness {
    /// Directory of the witness
    pub dir: PathBuf,
    /// Where to listen.
    #[command(flatten)]
    pub at: WitnessListening,
    /// Key of a log to cosign for (repeatable)
    #[arg(long, value_name = "VKEY", required = true)]
    pub log: Vec<VerifierKey>,
    /// What decrypts the witness's key.
    #[command(flatten)]
    pub unlock: Unlock,
}

/// `clew log publish`
#[derive(Args, Debug)]
pub struct LogPublish {
    /// Directory of the group
    pub dir: PathBuf,
    /// Address of the log
    pub url: ServiceUrl,
    /// What decrypts the issuer key.
    #[command(flatten)]
    pub unlock: Unlock,
}

/// Where an entry goes, and what its proof has to have.
#[derive(Args, Debug)]
pub struct EntryTo {
    /// The log.
    #[command(flatten)]
    pub log: GroupsLog,
    /// Where to write the proof.
    #[command(flatten)]
    pub out: NewFile,
}

/// A group's log, and what a proof of it has to have.
#[derive(Args, Debug)]
pub struct GroupsLog {
    /// Address of the group's log
    pub url: ServiceUrl,
    /// Group file, which names the log
    #[arg(long, value_name = "GROUPFILE")]
    pub group: PathBuf,
    /// Key of a witness that has to cosign, as NAME+ID+KEY (repeatable)
    #[arg(long, value_name = "VKEY")]
    pub witness: Vec<VerifierKey>,
    /// How many of the witnesses must have cosigned [default: more than half]
    #[arg(long, value_name = "K")]
    pub threshold: Option<usize>,
}

/// An entry's author, and where the entry goes.
#[derive(Args, Debug)]
pub struct Authored {
    /// Where it goes.
    #[command(flatten)]
    pub to: EntryTo,
    /// Key of the author, from clew log keygen
    #[arg(long, value_name = "AUTHOR.key")]
    pub key: PathBuf,
    /// What decrypts the key.
    #[command(flatten)]
    pub unlock: Unlock,
}

/// `clew log add`
#[derive(Args, Debug)]
pub struct LogAdd {
    /// Where it goes.
    #[command(flatten)]
    pub to: EntryTo,
    /// File with the entry
    pub entry: PathBuf,
}

/// `clew log anchor`
#[derive(Args, Debug)]
pub struct LogAnchor {
    /// Who writes it, and where.
    #[command(flatten)]
    pub by: Authored,
    /// Capture to anchor: its SHA-256, times and number of packets become public
    pub capture: PathBuf,
}

/// `clew log anchor-ring`
#[derive(Args, Debug)]
#[command(after_help = ANCHOR_RING_HELP)]
pub struct LogAnchorRing {
    /// The log.
    #[command(flatten)]
    pub log: GroupsLog,
    /// Prefix of the evidence files, as clew verify --write has it
    #[arg(long, value_name = "PREFIX")]
    pub prefix: PathBuf,
    /// Key of the observer, from clew log keygen
    #[arg(long, value_name = "AUTHOR.key")]
    pub key: PathBuf,
    /// Anchor what there is, and end [default: run until interrupted]
    #[arg(long)]
    pub once: bool,
    /// What decrypts the key.
    #[command(flatten)]
    pub unlock: Unlock,
}

const ANCHOR_RING_HELP: &str = "\
Each file FILE.pcapng gets FILE.pcapng.anchor, once the log's witnesses cosigned its entry. While
the log does not answer, files wait; they are anchored later, in their order. The proof of a file
that the ring removed is removed, too: clew log prove writes it again.";

/// `clew log result`
#[derive(Args, Debug)]
pub struct LogResult {
    /// Who writes it, and where.
    #[command(flatten)]
    pub by: Authored,
    /// Place of the request, from 1
    pub place: u64,
    /// Evidence: an opening or a match. Its SHA-256 becomes public
    pub evidence: PathBuf,
}

/// `clew log unseal`
#[derive(Args, Debug)]
pub struct LogUnseal {
    /// Who writes it, and where.
    #[command(flatten)]
    pub by: Authored,
    /// Place of the request, from 1
    pub place: u64,
    /// Warrant of the request: the whole file becomes public
    pub warrant: PathBuf,
    /// Salt that clew warrant request printed, as 64 hexadecimal digits
    #[arg(long, value_name = "HEX")]
    pub salt: Salt,
}

/// Which log somebody believes, and the word of which witnesses.
#[derive(Args, Debug)]
pub struct Believed {
    /// Key of the log
    #[arg(long, value_name = "VKEY")]
    pub log: Option<VerifierKey>,
    /// Key of a witness, as NAME+ID+KEY (repeatable)
    #[arg(long, value_name = "VKEY")]
    pub witness: Vec<VerifierKey>,
    /// How many of the witnesses must have cosigned [default: more than half]
    #[arg(long, value_name = "K")]
    pub threshold: Option<usize>,
}

/// `clew log verify`
#[derive(Args, Debug)]
pub struct LogVerify {
    /// Address or directory of the log
    #[arg(
        value_name = "URL|DIR",
        required_unless_present = "proof",
        conflicts_with = "proof"
    )]
    pub source: Option<String>,
    /// Proof to check instead
    #[arg(long, value_name = "FILE", conflicts_with_all = ["state", "evidence"])]
    pub proof: Option<PathBuf>,
    /// Which log and witnesses.
    #[command(flatten)]
    pub believed: Believed,
    /// Group file, to compare with what the log says
    #[arg(long, value_name = "GROUPFILE")]
    pub group: Option<PathBuf>,
    /// Copy of the log to continue, made by the first run. Without it a fork is not noticed
    #[arg(long, value_name = "FILE")]
    pub state: Option<PathBuf>,
    /// File for the log's checkpoints if it broke a rule [default: clew-log.evidence]
    #[arg(long, value_name = "FILE")]
    pub evidence: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// `clew log count`
#[derive(Args, Debug)]
pub struct LogCount {
    /// Address or directory of the log
    #[arg(value_name = "URL|DIR")]
    pub source: String,
    /// Which log and witnesses.
    #[command(flatten)]
    pub believed: Believed,
    /// Group file, which tells how many trustees open a packet
    #[arg(long, value_name = "GROUPFILE")]
    pub group: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// `clew log prove`
#[derive(Args, Debug)]
pub struct LogProve {
    /// Address of the log
    pub url: ServiceUrl,
    /// Place of the entry, from 0
    #[arg(required_unless_present = "since")]
    pub place: Option<u64>,
    /// Earlier proof: write the proof that the log continued from there, for clew share --consistency
    #[arg(long, value_name = "PROOF", conflicts_with = "place")]
    pub since: Option<PathBuf>,
    /// Later proof to which the log continued [default: the newest checkpoint]
    #[arg(long, value_name = "PROOF", requires = "since")]
    pub to: Option<PathBuf>,
    /// Which log and witnesses.
    #[command(flatten)]
    pub believed: Believed,
    /// Where to write.
    #[command(flatten)]
    pub out: NewFile,
}

fn parse_witness(text: &str) -> Result<(VerifierKey, ServiceUrl), String> {
    let parts = text.find("=http").map(|at| text.split_at(at));
    let (key, url) = parts.ok_or("write NAME+ID+KEY=https://HOST:PORT/#SHA256:...")?;
    let key = key
        .parse()
        .map_err(|_| "before the = stands no verifier key")?;
    let url = url[1..].parse::<ServiceUrl>();
    Ok((key, url.map_err(|error| error.to_string())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "w+a5d55345+BGQJ1RNQYvG8QUbLtN2AzzJEpqgqPIhAK2nFS0q8Ye+1";

    #[test]
    fn witnesses_have_a_key_and_an_address() {
        for bad in ["", KEY, "x=https://host/", &format!("{KEY}=http://host/")] {
            assert!(parse_witness(bad).is_err(), "{bad}");
        }
    }
}
