//! `clew tunnel keygen`

use crate::cli::{TunnelKeygen, TunnelKeygenServer, TunnelKeygenUser};
use crate::clock;
use crate::failure::{Failure, Status};
use crate::secrets;
use crate::tunnel::keys::{self, PublicKey};
use crate::tunnel::records;
use clew_keys::files::IfExists;

const DAY_MS: u64 = 86_400_000;

pub fn run(arguments: &TunnelKeygen) -> Result<Status, Failure> {
    match arguments {
        TunnelKeygen::Server(arguments) => server(arguments),
        TunnelKeygen::User(arguments) => user(arguments),
    }
}

fn server(arguments: &TunnelKeygenServer) -> Result<Status, Failure> {
    let issuer = arguments.issuer.as_ref();
    let issuer = issuer.map(|path| arguments.unlock.load(path, keys::decode_server));
    let issuer = issuer.transpose()?;
    let start = records::now();
    let end = start + arguments.days * DAY_MS;
    let host = &arguments.host;
    let key = keys::generate_server(host, (start, end), issuer.as_ref()).map_err(|_| {
        Failure::new(format!("{host:?}: not a valid host name"))
            .hint("use letters a-z, digits and hyphens, separated by dots: web.example")
    })?;
    let sealed = arguments.seal.secret()?;
    let (path, text) = (&arguments.out.output, keys::encode_server(&key));
    let comment = keys::server_comment(&key);
    secrets::write(path, &text, &comment, sealed.as_ref(), IfExists::Refuse)?;
    say!("server {host}");
    say!("  key     {}", PublicKey(key.cert.body.signing));
    if issuer.is_some() {
        say!("  issuer  {}", PublicKey(key.cert.body.issuer));
    }
    say!("  until   {}", clock::to_the_second(end * 1_000_000));
    say!("  secret  {}: is the server", path.display());
    Ok(Status::Yes)
}

fn user(arguments: &TunnelKeygenUser) -> Result<Status, Failure> {
    let key = keys::generate_user();
    let sealed = arguments.seal.secret()?;
    let (path, text) = (&arguments.out.output, keys::encode_user(&key));
    let comment = keys::user_comment(&key);
    secrets::write(path, &text, &comment, sealed.as_ref(), IfExists::Refuse)?;
    say!("{}", keys::user_key(&key));
    Ok(Status::Yes)
}
