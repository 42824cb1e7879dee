//! Service records: `spec/tunnel.md` sections 3 and 12.

use std::net::SocketAddr;
use std::time::Duration;

use clew_tunnel::Reason;
use clew_tunnel::record::{
    Authenticators, Cert, CertBody, ECERT_BYTES_MAX, Ecert, EcertBody, Identity, Record,
    ServerSecret, SigningSecret, UserSecret, Wanted, check_hostname, from_dns_cert, from_dns_ecert,
    to_dns_cert, to_dns_ecert,
};
use clew_tunnel::x25519::{Public, Secret};
use clew_tunnel::{keys, limits};
use clew_wire::WallTime;
use ed25519_dalek::{Signer, SigningKey};
use proptest::prelude::*;

const NOW: u64 = 1_700_000_000_000;
const DAY: u64 = 86_400_000;
const YEAR: u64 = 366 * DAY;
const LIFETIME_MAX: u64 = limits::LIFETIME_MAX.as_millis() as u64;
const HOST: &str = "files.example";

fn issuer() -> SigningSecret {
    SigningSecret::from_seed(&[1; 32])
}

fn signing() -> SigningSecret {
    SigningSecret::from_seed(&[2; 32])
}

fn boxing() -> Public {
    keys::public(&Secret::from_bytes([3; 32]))
}

fn ephemeral() -> Public {
    keys::public(&Secret::from_bytes([4; 32]))
}

fn addresses() -> Vec<SocketAddr> {
    vec![
        "192.0.2.1:4321".parse().unwrap(),
        "[2001:db8::1]:4321".parse().unwrap(),
    ]
}

/// What a record is made of, before it is broken.
struct Made {
    cert: CertBody,
    ecert: EcertBody,
}

fn made() -> Made {
    Made {
        cert: CertBody {
            issuer: issuer().public(),
            signing: signing().public(),
            boxing: boxing(),
            start: NOW - DAY,
            end: NOW + DAY,
            hostname: HOST.into(),
        },
        ecert: EcertBody {
            authenticators: Authenticators(3),
            w: 20,
            m: 1_024,
            signing: signing().public(),
            boxing: boxing(),
            ephemeral: ephemeral(),
            start: NOW,
            end: NOW + 270_000,
            addresses: addresses(),
        },
    }
}

/// The signed parts, whatever is wrong with what they say: labels and layout from the specification.
impl Made {
    fn cert(&self) -> Vec<u8> {
        let parts: [&[u8]; 8] = [
            &[0, 0],
            &self.cert.issuer,
            &self.cert.signing,
            &self.cert.boxing.0,
            &self.cert.start.to_be_bytes(),
            &self.cert.end.to_be_bytes(),
            &[self.cert.hostname.len() as u8],
            &self.cert.hostname,
        ];
        signed(1, b"clew-mlt-cert\0\0\0", &parts.concat())
    }

    fn ecert(&self) -> Vec<u8> {
        let ecert = &self.ecert;
        let parts: [&[u8]; 8] = [
            &[0, 0, ecert.authenticators.0, ecert.w],
            &ecert.m.to_be_bytes(),
            &ecert.signing,
            &ecert.boxing.0,
            &ecert.ephemeral.0,
            &ecert.start.to_be_bytes(),
            &ecert.end.to_be_bytes(),
            &[ecert.addresses.len() as u8],
        ];
        let mut body = parts.concat();
        for address in &ecert.addresses {
            match address {
                SocketAddr::V4(v4) => body.extend([&[4][..], &v4.ip().octets()].concat()),
                SocketAddr::V6(v6) => body.extend([&[6][..], &v6.ip().octets()].concat()),
            }
            body.extend(address.port().to_be_bytes());
        }
        signed(2, b"clew-mlt-ecert\0\0", &body)
    }

    fn record(&self) -> Record {
        Record::of(&self.cert(), &self.ecert()).unwrap()
    }

    fn judged(&self) -> Result<(), Reason> {
        wanted().verify(&self.record(), trusts)
    }
}

fn signed(seed: u8, label: &[u8; 16], body: &[u8]) -> Vec<u8> {
    let message = [label, body].concat();
    let signature = SigningKey::from_bytes(&[seed; 32]).sign(&message);
    [&signature.to_bytes()[..], body].concat()
}

fn wanted() -> Wanted<'static> {
    Wanted {
        hostname: Some(HOST),
        now: WallTime::from_millis(NOW),
        cert_lifetime_max: Duration::from_millis(YEAR),
    }
}

fn trusts(cert: &Cert) -> bool {
    cert.body.issuer == issuer().public()
}

/// What is thought of a record that was changed so.
#[track_caller]
fn refused(reason: Reason, change: impl FnOnce(&mut Made)) {
    let mut made = made();
    change(&mut made);
    assert_eq!(made.judged(), Err(reason));
}

#[test]
fn sizes_of_the_specification() {
    let made = made();
    assert_eq!(made.cert().len(), 179 + HOST.len());
    assert_eq!(made.ecert().len(), 209);
    assert_eq!(ECERT_BYTES_MAX, 183 + 8 * 19);
    assert_eq!(made.record().to_bytes().len(), 4 + 179 + HOST.len() + 209);
}

#[test]
fn records_are_read_as_they_were_signed() {
    let made = made();
    let cert = Cert::sign(made.cert.clone(), &issuer()).unwrap();
    let ecert = Ecert::sign(made.ecert.clone(), &signing()).unwrap();
    assert_eq!(
        (cert.to_bytes(), ecert.to_bytes()),
        (made.cert(), made.ecert())
    );
    let record = Record { cert, ecert };
    assert_eq!(Record::parse(&record.to_bytes()).as_ref(), Ok(&record));
    assert_eq!(record.cert.body, made.cert);
    assert_eq!(record.ecert.body, made.ecert);
    assert_eq!(made.judged(), Ok(()));
    let any = Wanted {
        hostname: None,
        ..wanted()
    };
    assert_eq!(
        any.verify(&record, |cert| cert.body.signing == signing().public()),
        Ok(())
    );
}

#[test]
fn lengths_and_versions() {
    let made = made();
    let (cert, ecert) = (made.cert(), made.ecert());
    let whole = made.record().to_bytes();
    for cut in 0..whole.len() {
        assert_eq!(Record::parse(&whole[..cut]), Err(Reason::RecordLength));
    }
    assert_eq!(
        Record::parse(&[&whole[..], &[0]].concat()),
        Err(Reason::RecordLength)
    );
    let of = |cert: &[u8], ecert: &[u8]| Record::of(cert, ecert).err();
    assert_eq!(of(&cert[..65], &ecert), Some(Reason::RecordLength));
    assert_eq!(of(&cert[..66], &ecert), Some(Reason::RecordLength));
    assert_eq!(
        of(&cert, &[&ecert[..], &[0]].concat()),
        Some(Reason::RecordLength)
    );
    let newer = |part: &[u8]| {
        let mut part = part.to_vec();
        part[65] = 1;
        part
    };
    assert_eq!(of(&newer(&cert), &ecert), Some(Reason::RecordVersion));
    // Of another version, the length is not known.
    assert_eq!(of(&cert, &newer(&ecert)[..70]), Some(Reason::RecordVersion));
    assert_eq!(of(&cert[..65], &newer(&ecert)), Some(Reason::RecordLength));
    // An address of a family that has no length.
    let mut family = ecert.clone();
    family[183] = 5;
    assert_eq!(of(&cert, &family), Some(Reason::RecordLength));
}

#[test]
fn trust_and_signatures() {
    let record = made().record();
    assert_eq!(wanted().verify(&record, |_| false), Err(Reason::Untrusted));
    for byte in [0, 40, 63] {
        let mut other = record.clone();
        other.cert.signature[byte] ^= 1;
        assert_eq!(
            wanted().verify(&other, trusts),
            Err(Reason::RecordSignature)
        );
        let mut other = record.clone();
        other.ecert.signature[byte] ^= 1;
        assert_eq!(
            wanted().verify(&other, trusts),
            Err(Reason::RecordSignature)
        );
    }
    // Pinned, and signed by somebody: the issuer's signature has to hold nevertheless.
    let mut other = record.clone();
    other.cert.body.end += 1;
    assert_eq!(
        wanted().verify(&other, |_| true),
        Err(Reason::RecordSignature)
    );
    // A key of small order, under which R = A and S = 0 verifies anything without strictness.
    let mut low = [0; 32];
    low[0] = 1;
    let mut other = record;
    other.cert.body.issuer = low;
    other.cert.signature = [0; 64];
    other.cert.signature[0] = 1;
    assert_eq!(
        wanted().verify(&other, |_| true),
        Err(Reason::RecordSignature)
    );
}

#[test]
fn keys_of_both_parts_are_the_same() {
    refused(Reason::RecordKeys, |made| made.ecert.boxing = ephemeral());
    refused(Reason::RecordKeys, |made| {
        made.ecert.signing = issuer().public()
    });
}

#[test]
fn hostnames() {
    refused(Reason::WrongHost, |made| {
        made.cert.hostname = b"other.example".into()
    });
    refused(Reason::BadHostname, |made| {
        made.cert.hostname = b"Files.example".into()
    });
    let label = "x".repeat(63);
    let longest = [&label[..], &label, &label, &label[2..]].join(".");
    assert_eq!(longest.len(), 253);
    for good in ["a", "a.b", "0-1", "xn--a.b", &longest] {
        assert_eq!(check_hostname(good.as_bytes()), Ok(()), "{good}");
    }
    let (long, longer) = (["x"; 64].concat(), [&longest, "x"].concat());
    for bad in [
        "", ".", "a.", ".a", "a..b", "-a", "a-", "a.-b", "a_b", "A", "é", "a b", &long, &longer,
    ] {
        assert_eq!(
            check_hostname(bad.as_bytes()),
            Err(Reason::BadHostname),
            "{bad}"
        );
    }
}

#[test]
fn what_a_service_asks_for() {
    for bit in 2..8 {
        refused(Reason::ReservedBits, |made| {
            made.ecert.authenticators.0 |= 1 << bit
        });
    }
    refused(Reason::BadLimits, |made| made.ecert.w = 23);
    refused(Reason::BadLimits, |made| made.ecert.m = 1_023);
    refused(Reason::BadLimits, |made| made.ecert.m = 1_233);
    refused(Reason::BadAddress, |made| made.ecert.addresses.clear());
    refused(Reason::BadAddress, |made| {
        made.ecert.addresses = [addresses()[0]; 9].into()
    });
    for bad in [
        "0.0.0.0:1",
        "192.0.2.1:0",
        "224.0.0.1:1",
        "[::]:1",
        "[ff02::1]:1",
        "[::ffff:192.0.2.1]:1",
    ] {
        refused(Reason::BadAddress, |made| {
            made.ecert.addresses[1] = bad.parse().unwrap()
        });
    }
    let mut most = made();
    most.ecert.addresses = [addresses()[1]; 8].into();
    (most.ecert.w, most.ecert.m) = (22, 1_232);
    assert_eq!(most.ecert().len(), ECERT_BYTES_MAX);
    assert_eq!(most.judged(), Ok(()));
}

#[test]
fn keys_are_canonical() {
    let high = Public([0xff; 32]);
    refused(Reason::BadKey, |made| made.ecert.ephemeral = high);
    refused(Reason::BadKey, |made| {
        (made.cert.boxing, made.ecert.boxing) = (high, high)
    });
}

#[test]
fn times() {
    refused(Reason::BadLifetime, |made| made.cert.end = made.cert.start);
    refused(Reason::BadLifetime, |made| {
        made.cert.end = made.cert.start + YEAR + 1
    });
    refused(Reason::BadLifetime, |made| {
        made.ecert.end = made.ecert.start
    });
    refused(Reason::BadLifetime, |made| {
        made.ecert.end = NOW + LIFETIME_MAX + 1
    });
    refused(Reason::NotYetValid, |made| made.cert.start = NOW + 30_001);
    refused(Reason::NotYetValid, |made| made.ecert.start = NOW + 30_001);
    refused(Reason::Expired, |made| made.cert.end = NOW - 1);
    refused(Reason::Expired, |made| {
        (made.ecert.start, made.ecert.end) = (NOW - 100, NOW - 1);
    });
    let mut edges = made();
    (edges.cert.start, edges.ecert.start) = (NOW - DAY, NOW + 30_000);
    (edges.cert.end, edges.ecert.end) = (NOW, NOW + 30_000 + LIFETIME_MAX);
    assert_eq!(edges.judged(), Ok(()));
    // Nothing overflows.
    let end = Wanted {
        now: WallTime::from_millis(u64::MAX),
        ..wanted()
    };
    assert_eq!(end.verify(&made().record(), trusts), Err(Reason::Expired));
}

#[test]
fn newer_is_a_later_start_of_the_same_keys() {
    let held = made().record().ecert;
    let with = |change: fn(&mut Made)| {
        let mut made = made();
        change(&mut made);
        made.record().ecert.check_newer(&held)
    };
    assert_eq!(with(|made| made.ecert.start += 1), Ok(()));
    assert_eq!(with(|_| ()), Err(Reason::NotNewer));
    assert_eq!(with(|made| made.ecert.start -= 1), Err(Reason::NotNewer));
    let other = with(|made| {
        made.ecert.start += 1;
        made.ecert.signing = issuer().public();
    });
    assert_eq!(other, Err(Reason::NotNewer));
}

#[test]
fn what_would_be_refused_is_not_signed() {
    let mut made = made();
    made.cert.hostname = vec![b'x'; 300];
    assert_eq!(
        Cert::sign(made.cert, &issuer()).err(),
        Some(Reason::BadHostname)
    );
    made.ecert.w = 23;
    assert_eq!(
        Ecert::sign(made.ecert, &signing()).err(),
        Some(Reason::BadLimits)
    );
}

#[test]
fn texts_of_the_dns() {
    let record = made().record();
    let (cert, ecert) = (to_dns_cert(&record.cert), to_dns_ecert(&record.ecert));
    assert!(cert.starts_with("mlt0c=") && ecert.starts_with("mlt0e="));
    assert_eq!(from_dns_cert(&cert).unwrap(), Ok(record.cert));
    assert_eq!(from_dns_ecert(&ecert).unwrap(), Ok(record.ecert));
    assert!(from_dns_cert(&ecert).is_none() && from_dns_ecert("v=spf1").is_none());
    for bad in ["mlt0c=", "mlt0c=AA", "mlt0c=!!!!"] {
        assert_eq!(from_dns_cert(bad).unwrap(), Err(Reason::RecordLength));
    }
}

#[test]
fn secrets_are_read_as_they_were_written() {
    let server = ServerSecret {
        signing: signing(),
        boxing: Secret::from_bytes([3; 32]),
        cert: made().record().cert,
    };
    let bytes = server.to_bytes();
    assert_eq!(bytes.len(), 64 + 179 + HOST.len());
    let read = ServerSecret::from_bytes(&bytes).unwrap();
    assert_eq!(read.to_bytes(), bytes);
    let mut other = bytes.to_vec();
    other[0] ^= 1;
    assert_eq!(
        ServerSecret::from_bytes(&other).err(),
        Some(Reason::RecordKeys)
    );
    let short = ServerSecret::from_bytes(&bytes[..63]);
    assert_eq!(short.err(), Some(Reason::RecordLength));
    let user = UserSecret::from_bytes(&[6; 32]).unwrap();
    assert_eq!(*user.to_bytes(), [6; 32]);
    assert!(UserSecret::from_bytes(&[6; 31]).is_none());
    assert!(!format!("{server:?}{user:?}").contains(", 6, 6"));
}

#[test]
fn identities() {
    for signing in [None, Some([9; 32])] {
        let identity = Identity {
            signing,
            hostname: HOST,
        };
        let bytes = identity.to_bytes().unwrap();
        let key = signing.map_or(0, |_| 32);
        assert_eq!(bytes.len(), 2 + key + HOST.len());
        assert_eq!(Identity::parse(&bytes), Ok(identity));
        for cut in 0..bytes.len() {
            assert_eq!(Identity::parse(&bytes[..cut]), Err(Reason::BadIdentity));
        }
        let longer = [&bytes[..], b"x"].concat();
        assert_eq!(Identity::parse(&longer), Err(Reason::BadIdentity));
    }
    for bad in [&b"\x01x\x01a"[..], b"\0\x01A", b"\0\0", b"\x21"] {
        assert_eq!(Identity::parse(bad), Err(Reason::BadIdentity));
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = Record::parse(&bytes);
        let _ = Identity::parse(&bytes);
        let _ = ServerSecret::from_bytes(&bytes);
    }

    #[test]
    fn a_record_that_was_changed_is_refused(at in 0usize..405, bit in 0u8..8) {
        let mut bytes = made().record().to_bytes();
        prop_assert_eq!(bytes.len(), 405);
        bytes[at] ^= 1 << bit;
        let judged = Record::parse(&bytes).and_then(|record| wanted().verify(&record, trusts));
        prop_assert!(judged.is_err());
    }
}
