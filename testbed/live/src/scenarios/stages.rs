//! What each stage of a packet's way costs: clew's TUN, socket and core in one thread, between two
//! namespaces, a block at a time. The sizes of blocks take turns, so that load falls on all alike.

use crate::bed::{Bed, Namespace};
use crate::options::{Common, Stages};
use crate::signer::{Clock, PEER, identity, inbound, outbound, rng};
use crate::systems::clew;
use crate::topology::{Beside, FAR_INNER, NEAR_INNER, Shape, Topology};
use clew_engine::Keyring;
use clew_live::carrier::{Datagrams, Tun, TunReader, TunWriter, Udp};
use clew_live::identity::Identity;
use clew_live::packet::{Burst, Clear, Delivery, Outer};
use clew_live::pool::{Generation, Marks, Pool, PoolHandle};
use clew_live::receiver::Inbound;
use clew_live::sender::{Cover, Outbound};
use clew_packet::{Candidate, Frame, LinkType, Mode};
use clew_record::table::{Table, fixed};
use clew_record::{Record, Row};
use rand_chacha::ChaCha20Rng;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const DEVICE: &str = "stages";
const PORT: u16 = 4_906;
/// Bytes of data in a packet: with a signature in full it needs no fragment.
const DATA: usize = 960;
/// How long a block's datagrams may be under way.
const PATIENCE: Duration = Duration::from_millis(200);
const POOL: usize = 256;
const TO: &str = "10.78.2.1:9";
const FAR: &str = "198.18.0.2:4906";

/// In the order of a packet's way, and what is measured.
const STAGES: [(&str, &str); 10] = [
    ("read", "TUN to packets"),
    ("look-up", "parse, MSS, flow and queue"),
    (
        "sign",
        "hashes, tree, signature with a precursor, shares; a part of flush",
    ),
    (
        "flush",
        "take the block, sign, write datagrams, pack them for one system call",
    ),
    ("send", "system calls with segmentation offload"),
    ("receive", "system calls, and a copy of each datagram"),
    (
        "look",
        "parse, freshness, duplicates, hashes, shares, decode",
    ),
    ("verify", "the block's signature"),
    ("order", "verdicts for the block's packets, order, delivery"),
    ("write", "packets to TUN, coalesced"),
];

/// `sign` is in `flush`.
const PART: &str = "sign";

const GENERATION: Generation = Generation {
    process: 0,
    boot: [0; 16],
};

/// Microseconds a packet, of each block.
type Samples = BTreeMap<(u16, &'static str), Vec<f64>>;

/// Runs the scenario.
pub fn run(common: &Common, stages: &Stages, record: &mut Record) -> io::Result<()> {
    let _bed = Bed::open()?;
    let keys = clew::keys(stages.scheme.name())?;
    let topology = Topology::make(Shape::Pair, Beside::default(), common.threads())?;
    let mut bench = Bench::new(&topology, &keys)?;
    let (mut samples, mut lost) = (Samples::new(), 0);
    // The first blocks make a known source of the sender.
    for _ in 0..3 {
        bench.block(64)?;
    }
    for _ in 0..stages.samples * common.rounds {
        for block in &stages.blocks {
            match bench.block((*block).clamp(1, 64))? {
                Some(times) => times.into_iter().for_each(|(stage, time)| {
                    let each = time.as_secs_f64() * 1e6 / f64::from(*block);
                    samples.entry((*block, stage)).or_default().push(each);
                }),
                None => lost += 1,
            }
        }
    }
    if samples.is_empty() {
        return Err(io::Error::other("no block was delivered whole"));
    }
    report(stages, &samples, record);
    record.notes.push(format!(
        "packets of {DATA} bytes and their headers, one flow; {lost} blocks were not delivered whole, and are not counted"
    ));
    record
        .notes
        .push("a daemon's threads, locks and wake-ups are not in it".into());
    Ok(())
}

/// A row for each stage and size, and a table of medians with the sums.
fn report(stages: &Stages, samples: &Samples, record: &mut Record) {
    let columns = stages.blocks.iter().map(|block| format!("k={block}"));
    let title = format!(
        "Microseconds a packet by stage and block of k packets, {}: medians",
        stages.scheme.name()
    );
    let columns = ["stage".to_owned()].into_iter().chain(columns);
    let mut table = Table::new("stages", title, columns.chain(["what".to_owned()]));
    let mut sums = vec![0.0; stages.blocks.len()];
    for (stage, what) in STAGES {
        let mut cells = Vec::new();
        for (block, sum) in stages.blocks.iter().zip(&mut sums) {
            let row = row(*block, stage, what, samples.get(&(*block, stage)));
            *sum += if stage == PART { 0.0 } else { row.median_us };
            cells.push(fixed(2)(row.median_us));
            record.rows.push(row);
        }
        table.row(stage, cells.into_iter().chain([what.to_owned()]));
    }
    let sums = sums.into_iter().map(fixed(2));
    table.row(
        "all",
        sums.chain(["without sign, which is in flush".to_owned()]),
    );
    record.tables.push(table);
}

fn row(block: u16, stage: &str, what: &str, samples: Option<&Vec<f64>>) -> Row {
    let empty = Vec::new();
    let samples = samples.unwrap_or(&empty);
    let at = |percent| crate::measure::percentile(samples, percent);
    Row {
        name: format!("{stage}-{block}"),
        work: format!("{what}, a packet of a block of {block}"),
        median_us: at(50.0).unwrap_or(f64::NAN),
        mean_us: None,
        p10_us: at(10.0),
        p90_us: at(90.0),
        samples: Some(samples.len()),
        repetitions: Some(block.into()),
        quoted_us: BTreeMap::new(),
        peer_us: None,
        ratio_to_peer: None,
        against: None,
        ratio_in_run: None,
    }
}

struct Bench {
    clock: Clock,
    rng: ChaCha20Rng,
    identity: Arc<Identity>,
    pool: Pool,
    outbound: Outbound,
    inbound: Inbound<Keyring>,
    reader: TunReader,
    writer: TunWriter,
    near: Udp,
    far: Udp,
    /// Where the packets come from.
    source: Udp,
    /// Where they go to: nobody reads it.
    _sink: Udp,
    room: Datagrams,
}

/// What was measured of one block.
type Times = Vec<(&'static str, Duration)>;

impl Bench {
    fn new(topology: &Topology, keys: &Path) -> io::Result<Self> {
        let (near, far) = (topology.near(), topology.far());
        let tuns = [
            tun(near, FAR_INNER[0], "10.78.1.1")?,
            tun(far, NEAR_INNER[0], "10.78.2.1")?,
        ];
        let bind =
            |namespace: &Namespace, port| line::in_namespace(&namespace.name, || Udp::bind(port));
        let clock = Clock::start();
        let identity = identity(keys, "near")?;
        let remote: SocketAddr = FAR.parse().map_err(io::Error::other)?;
        let outbound = outbound(Arc::clone(&identity), Cover::Tree(64), remote);
        let marks = Marks {
            low: POOL,
            high: POOL,
        };
        Ok(Self {
            clock,
            rng: rng()?,
            identity,
            pool: Pool::new(marks, GENERATION),
            outbound,
            inbound: inbound(keys, NEAR_INNER, None, clock.now())?,
            reader: tuns[0].reader(),
            writer: tuns[1].writer(0),
            near: bind(near, PORT)?,
            far: bind(far, PORT)?,
            source: bind(near, 0)?,
            _sink: bind(far, 9)?,
            room: Datagrams::default(),
        })
    }

    /// Takes a block all the way. Returns `None` if it did not arrive whole.
    fn block(&mut self, packets: u16) -> io::Result<Option<Times>> {
        let count = usize::from(packets);
        let mut times = Times::new();
        let packets = self.read(count, &mut times)?;
        if packets.len() != count {
            return Ok(None);
        }
        let bursts = self.sign(packets, &mut times)?;
        let arrived = self.carry(bursts, &mut times)?;
        let delivered = self.verify(&arrived, &mut times);
        let packets = delivered.iter().map(|delivery| delivery.bytes.as_slice());
        timed(&mut times, "write", || self.writer.write(packets));
        let is_whole = delivered.len() == count;
        delivered
            .into_iter()
            .for_each(|delivery| self.inbound.recycle(delivery.bytes));
        Ok(is_whole.then_some(times))
    }

    fn read(&mut self, count: usize, times: &mut Times) -> io::Result<Vec<Vec<u8>>> {
        let burst = Burst {
            peer: PEER,
            ecn: 0,
            bytes: vec![7; count * DATA],
            segment: DATA,
        };
        let to = TO.parse().map_err(io::Error::other)?;
        self.source.send(to, None, &burst);
        let mut packets = Vec::new();
        timed(times, "read", || {
            while packets.len() < count && self.reader.read(&mut packets).is_ok() {}
        });
        // The kernel has things of its own to say on an interface.
        packets.retain(|packet| packet.get(16..20) == Some(&[10, 78, 2, 1]));
        Ok(packets)
    }

    fn sign(&mut self, packets: Vec<Vec<u8>>, times: &mut Times) -> io::Result<Vec<Burst>> {
        let now = self.clock.now();
        let key = Arc::clone(self.identity.at(now.wall).map_err(io::Error::other)?);
        self.pool
            .fill_some([Some(&key), None], GENERATION, 2, &mut self.rng);
        let precursor = self.pool.take(key.name(), GENERATION);
        let precursor = precursor.unwrap_or_else(|| key.precursor(&mut self.rng));
        let mut datagrams = vec![Vec::new(); packets.len()];
        let signed = timed(times, "sign", || {
            let mut scratch = Vec::new();
            let most = packets.len() as u16;
            let candidates = packets.iter().filter_map(|packet| {
                let frame = Frame::whole(LinkType::RAW, packet);
                let admitted = key.sender().admit(&frame, Mode::Tree, most, &mut scratch);
                admitted.ok()
            });
            let candidates: Vec<Candidate<'_>> = candidates.collect();
            let sender = key.sender();
            sender.sign_block(
                &candidates,
                Some(now.wall),
                [9; 16],
                || precursor,
                &mut datagrams,
            )
        });
        signed.map_err(|why| io::Error::other(format!("not signed: {why:?}")))?;
        timed(times, "look-up", || {
            for bytes in packets {
                // A refusal shows as a block that is not whole.
                let _ = self.outbound.push(Clear { peer: PEER, bytes }, now);
            }
        });
        let mut bursts = Vec::new();
        let mut handle = PoolHandle {
            pool: &self.pool,
            generation: GENERATION,
        };
        let (outbound, rng) = (&mut self.outbound, &mut self.rng);
        timed(times, "flush", || {
            outbound.flush(now, &mut handle, rng, &mut bursts)
        });
        Ok(bursts)
    }

    fn carry(
        &mut self,
        bursts: Vec<Burst>,
        times: &mut Times,
    ) -> io::Result<Vec<(Vec<u8>, Outer)>> {
        let to = FAR.parse().map_err(io::Error::other)?;
        timed(times, "send", || {
            bursts.iter().for_each(|burst| {
                self.near.send(to, None, burst);
            });
        });
        let datagrams = |burst: &Burst| burst.bytes.len().div_ceil(burst.segment.max(1));
        let count: usize = bursts.iter().map(datagrams).sum();
        bursts
            .into_iter()
            .for_each(|burst| self.outbound.recycle(burst.bytes));
        let (mut arrived, mut spent) = (Vec::new(), Duration::ZERO);
        let begin = Instant::now();
        while arrived.len() < count && begin.elapsed() < PATIENCE {
            let start = Instant::now();
            let any = self.far.receive(&mut self.room, |datagram, outer| {
                arrived.push((datagram.to_vec(), *outer));
            })?;
            match any {
                true => spent += start.elapsed(),
                false => std::thread::yield_now(),
            }
        }
        times.push(("receive", spent));
        Ok(arrived)
    }

    fn verify(&mut self, arrived: &[(Vec<u8>, Outer)], times: &mut Times) -> Vec<Delivery> {
        let (inbound, clock) = (&mut self.inbound, self.clock);
        timed(times, "look", || {
            for (datagram, outer) in arrived {
                inbound.receive(datagram, outer, clock.now());
            }
        });
        let (mut verify, mut order) = (Duration::ZERO, Duration::ZERO);
        while let Some(work) = inbound.take_work(clock.now()) {
            let begin = Instant::now();
            let done = work.run(&mut self.rng);
            let spent = begin.elapsed();
            inbound.finish(done, spent, clock.now());
            verify += spent;
            order += begin.elapsed() - spent;
        }
        let (begin, mut out) = (Instant::now(), Vec::new());
        inbound.deliver(clock.now(), &mut out);
        order += begin.elapsed();
        times.extend([("verify", verify), ("order", order)]);
        out
    }
}

/// A TUN that leads to a network.
fn tun(namespace: &Namespace, network: &str, own: &str) -> io::Result<Tun> {
    namespace.ip(&format!("tuntap add dev {DEVICE} mode tun vnet_hdr"))?;
    namespace.ip(&format!("link set dev {DEVICE} addrgenmode none"))?;
    namespace.ip(&format!(
        "link set dev {DEVICE} mtu 1500 txqueuelen 4000 up"
    ))?;
    namespace.ip(&format!("route add {network} dev {DEVICE} src {own}"))?;
    line::in_namespace(&namespace.name, || Tun::attach(DEVICE, 1_500, true))
}

fn timed<T>(times: &mut Times, stage: &'static str, work: impl FnOnce() -> T) -> T {
    let begin = Instant::now();
    let result = work();
    times.push((stage, begin.elapsed()));
    result
}
