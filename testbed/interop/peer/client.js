'use strict'
// The peer as a client: it knows a directory by its certificate, looks a host up, and uses a service there.
// As a server it registers a host of its own with the directory, which is a name service too.
const { minimaLT, certificate, auth, say, listen } = require('./harness')

const [port, directoryHex, hostHex] = process.argv.slice(2)
const directory = certificate.Cert.fromBufferNoKey(Buffer.from(directoryHex, 'hex'))
const host = certificate.Cert.fromBufferNoKey(Buffer.from(hostHex, 'hex'))
const key = minimaLT.generate_clientkey()
let blobs = 0
let connection

const client = minimaLT.client('127.0.0.1', Number(port), directory)
client.on('domainservice', () => say('domainservice'))
say('user', key.public.toString('hex'))

client.connect(host.toIdentity(), 'echo', key, (con) => {
  connection = con
  con.on('ack', () => say('acked', con.cid))
  con.on('close', () => say('closed', con.cid))
  con.call('ping', 42)
  return {
    pong: (x) => say('pong', x),
    blob: (x) => { blobs += 1; say('blob', blobs, x.length) }
  }
})

const other = (service, con) => {
  con.on('ack', () => say('acked', con.cid, service))
  con.on('refuse', () => say('refused', con.cid, service))
  con.on('close', () => say('closed', con.cid))
}

listen({
  ping: (x) => connection.call('ping', Number(x)),
  blobs: (count, length) => {
    for (let i = 0; i < Number(count); i++) connection.call('blob', Buffer.alloc(Number(length), i))
  },
  create: (service) => other(service, connection.tunnel.create(service, {})),
  create_false: (service) => {
    const x = auth.makeUserAuth(minimaLT.generate_clientkey(), host.boxing)
    other(service, connection.tunnel.createAuth(service, key.public, x, {}))
  },
  rekey: () => connection.tunnel.reKey(),
  close: () => connection.close(),
  advertise: () => {
    const own = minimaLT.generate_servercert('peer.example')
    const server = minimaLT.listen('127.0.0.1', 0, own, () => {})
    server.setDomainService('127.0.0.1', Number(port), directory)
    server.advertise(directory.toIdentity(), () => say('advertised', own.cert.hostname))
  }
})
