'use strict'
// The peer as a server: a directory, and one host with the service of the peer's own example. What it
// offers beyond that example: RPCs with bytes, and a service for anyone.
const { minimaLT, say, listen } = require('./harness')

const user = Buffer.from(process.argv[2], 'hex')
const connections = []
let notes = 0

const host = minimaLT.generate_servercert('files.example')
const server = minimaLT.listen('127.0.0.1', 0, host, (con, service, key, cb) => {
  const who = key === null ? 'anonymous' : key.toString('hex')
  say('create', con.cid, service, who)
  const welcome = service === 'my_thing' ? user.equals(key ?? Buffer.alloc(0)) : service === 'for_all'
  if (!welcome) return cb('no')
  connections[con.cid] = con
  con.on('close', () => say('closed', con.cid))
  cb(null, {
    ping: (x) => { say('ping', con.cid, x); con.call('pong', x) },
    blob: (x) => con.call('blob', x),
    note: () => { notes += 1; say('notes', notes) }
  })
})

const directoryCert = minimaLT.generate_servercert('directory.example')
const directory = minimaLT.domainservice('127.0.0.1', 0, directoryCert, (ident, cb) => {
  say('lookup', ident.hostname)
  if (ident.matches(host.cert)) cb(null, host.cert.toBuffer(), server.ephemeral_certificate.toBuffer())
})

listen({
  rekey: (cid) => connections[cid].tunnel.requestRekey(),
  puzzle: (cid, w) => connections[cid].tunnel.posePuzzle(server.puzzle_key, Number(w), (good) => say('solved', good)),
  close: (cid) => connections[cid].close()
})

say('directory', directory.port, directoryCert.cert.toBuffer().toString('hex'),
  host.cert.toBuffer().toString('hex'))
