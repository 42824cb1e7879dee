//! `clew flow keygen`

use crate::cli::{DigestBytes, FlowKeygen, HashName};
use crate::failure::{Failure, Status};
use crate::flow::keys::{self, FlowKey};
use crate::report::hex;
use crate::secrets;
use clew_flow::{Chaining, Degree, DigestSize, NAME_BYTES_MAX, Suite};
use clew_manager::files::{MODE_PUBLIC, Written};
use std::path::{Path, PathBuf};

pub fn run(arguments: &FlowKeygen) -> Result<Status, Failure> {
    let last = arguments.output.file_name().unwrap_or_default();
    let last = last.to_string_lossy();
    let name = arguments.name.as_deref().unwrap_or(&last);
    let key = FlowKey::generate(chaining(arguments)?, name).map_err(|_| {
        Failure::new(format!("{name:?} is no name of a flow")).hint(format!(
            "give --name with at most {NAME_BYTES_MAX} bytes, without control characters"
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
        false,
    )?;
    let public = Written::prepare(&public_path, text.as_bytes(), MODE_PUBLIC, false)
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
            .ok_or_else(|| Failure::new("a tree's degree is 2 to 1024"))?,
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
    say!("  ed25519  {}", hex(descriptor.public_key()));
    say!("  secret   {}: signs", secret.display());
    say!("  public   {}: give it to receivers", public.display());
}
