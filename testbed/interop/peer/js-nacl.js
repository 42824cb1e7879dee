'use strict'
// The peer was written for the js-nacl of 2014, which cannot be installed any more. This is the part of its
// API that the peer calls, over tweetnacl. Everything is a Buffer, as it was; what does not open throws, but
// for signatures, where js-nacl gave null.
const nacl = require('tweetnacl')
const hash = require('crypto')

const opened = (message) => {
  if (message === null) throw new Error('it does not open')
  return Buffer.from(message)
}

exports.instantiate = () => ({
  crypto_box_keypair: () => {
    const { publicKey, secretKey } = nacl.box.keyPair()
    return { boxPk: Buffer.from(publicKey), boxSk: Buffer.from(secretKey) }
  },
  crypto_box_precompute: (theirs, mine) => ({ boxK: Buffer.from(nacl.box.before(theirs, mine)) }),
  crypto_box_precomputed: (m, n, { boxK }) => Buffer.from(nacl.box.after(m, n, boxK)),
  crypto_box_open_precomputed: (m, n, { boxK }) => opened(nacl.box.open.after(m, n, boxK)),
  crypto_box: (m, n, theirs, mine) => Buffer.from(nacl.box(m, n, theirs, mine)),
  crypto_box_open: (m, n, theirs, mine) => opened(nacl.box.open(m, n, theirs, mine)),
  crypto_secretbox: (m, n, k) => Buffer.from(nacl.secretbox(m, n, k)),
  crypto_secretbox_open: (m, n, k) => opened(nacl.secretbox.open(m, n, k)),
  crypto_box_random_nonce: () => Buffer.from(nacl.randomBytes(24)),
  crypto_sign_keypair: () => {
    const { publicKey, secretKey } = nacl.sign.keyPair()
    return { signPk: Buffer.from(publicKey), signSk: Buffer.from(secretKey) }
  },
  crypto_sign: (m, k) => Buffer.from(nacl.sign(m, k)),
  crypto_sign_open: (m, k) => {
    const message = nacl.sign.open(m, k)
    return message === null ? null : Buffer.from(message)
  },
  crypto_hash_sha256: (m) => hash.createHash('sha256').update(m).digest(),
  random_bytes: (n) => Buffer.from(nacl.randomBytes(n))
})
