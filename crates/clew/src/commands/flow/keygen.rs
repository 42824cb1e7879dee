//! `clew flow keygen`

use crate::cli::{AlgorithmName, DigestBytes, FlowKeygen, FormName, HashName, RuleName, Strength};
use crate::failure::{Failure, Status};
use crate::flow::keys::{self, FlowKey, Scheme};
use crate::secrets;
use clew_flow::effs::{Parameters, Rule, Size};
use clew_flow::{Chaining, NAME_BYTES_MAX, SIGNATURE_BYTES_MAX};
use clew_keys::files::{IfExists, MODE_PUBLIC, Written};
use clew_tree::{Degree, DigestSize, Suite};
use std::path::{Path, PathBuf};

pub fn run(arguments: &FlowKeygen) -> Result<Status, Failure> {
    let last = arguments.output.file_name().unwrap_or_default();
    let last = last.to_string_lossy();
    let name = arguments.name.as_deref().unwrap_or(&last);
    let scheme = scheme(arguments)?;
    let key = FlowKey::generate(scheme, chaining(arguments)?, name).map_err(|_| {
        Failure::new(format!("{name:?}: not a valid flow name")).hint(format!(
            "use --name with at most {NAME_BYTES_MAX} bytes and without control characters"
        ))
    })?;
    let (secret_path, public_path) = paths(&arguments.output);
    let sealed = arguments.seal.secret()?;
    let text = keys::encode(key.descriptor());
    // Neither file alone is of use: both are written before either has its name.
    let written = secrets::prepare(
        &secret_path,
        &key.encode(),
        &key.comment(),
        sealed.as_ref(),
        IfExists::Refuse,
    )?;
    let public = Written::prepare(&public_path, text.as_bytes(), MODE_PUBLIC, IfExists::Refuse)
        .map_err(|e| secrets::cannot_write(&public_path, &e))?;
    let commit = |written: Written, path: &Path| {
        written
            .commit()
            .map_err(|e| secrets::cannot_write(path, &e))
    };
    commit(written, &secret_path)?;
    commit(public, &public_path)?;
    describe(&key, &secret_path, &public_path);
    Ok(Status::Yes)
}

/// The key that is asked for.
fn scheme(arguments: &FlowKeygen) -> Result<Scheme, Failure> {
    let of_effs = arguments.levels > 1
        || arguments.strength != Strength::B128
        || arguments.v_rule != RuleName::Paper
        || arguments.form != FormName::Compact;
    let size = match arguments.alg {
        AlgorithmName::Ed25519 if of_effs => {
            let wrong = "--strength, --levels, --v-rule and --form require eFFS";
            return Err(Failure::new(wrong).hint("use --alg effs-3072 or --alg effs-2048"));
        }
        AlgorithmName::Ed25519 => return Ok(Scheme::Ed25519),
        AlgorithmName::Effs2048 => Size::N2048,
        AlgorithmName::Effs3072 => Size::N3072,
    };
    let (bits, levels) = (arguments.strength.bits(), arguments.levels);
    let parameters = Parameters::new(size, bits / u16::from(levels), levels);
    let parameters = parameters.ok_or_else(|| Failure::new("--levels must be 1, 2, 4 or 8"))?;
    let parameters = parameters.with_rule(match arguments.v_rule {
        RuleName::Paper => Rule::Paper,
        RuleName::Williams => Rule::Williams,
    });
    let parameters = match arguments.form {
        FormName::Paper => parameters.in_papers_form(),
        FormName::Compact => parameters,
    };
    match parameters.signature_bytes() {
        ..=SIGNATURE_BYTES_MAX => Ok(Scheme::Effs(parameters)),
        bytes => Err(Failure::new(format!(
            "need signatures of at most {SIGNATURE_BYTES_MAX} bytes, {parameters} has {bytes}"
        ))
        .hint("use fewer --levels, --form compact or --alg effs-2048")),
    }
}

fn chaining(arguments: &FlowKeygen) -> Result<Chaining, Failure> {
    Ok(Chaining {
        suite: match arguments.hash {
            HashName::Blake3 => Suite::Blake3,
            HashName::Sha256 => Suite::Sha256,
        },
        digest: match arguments.digest {
            DigestBytes::D16 => DigestSize::D16,
            DigestBytes::D24 => DigestSize::D24,
            DigestBytes::D32 => DigestSize::D32,
        },
        degree: Degree::new(arguments.degree)
            .ok_or_else(|| Failure::new("--degree must be 2 to 1024"))?,
        most: arguments.block,
        salted: arguments.salted,
        every: !arguments.partly,
    })
}

/// The names of both files: `NAME.key` and `NAME.flow`.
fn paths(name: &Path) -> (PathBuf, PathBuf) {
    let with = |end: &str| {
        let mut path = name.as_os_str().to_owned();
        path.push(end);
        PathBuf::from(path)
    };
    (with(".key"), with(".flow"))
}

fn describe(key: &FlowKey, secret: &Path, public: &Path) {
    let descriptor = key.descriptor();
    say!("flow {}", keys::title(descriptor));
    let (scheme, key) = (keys::scheme(descriptor), keys::fingerprint(descriptor));
    say!("  key      {scheme}, {key}");
    say!("  secret   {}  (signs packets)", secret.display());
    say!("  public   {}  (for receivers)", public.display());
}
