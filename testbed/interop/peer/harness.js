'use strict'
// What both scripts need: the peer's modules, a way to tell the adapter what happened (lines on stdout that
// begin with "interop"), and a way to be told what to do (lines on stdin).
const Module = require('module')
const path = require('path')
const readline = require('readline')

// The peer writes a diary of its own; stdout is for the adapter.
console.log = console.error

const resolve = Module._resolveFilename
Module._resolveFilename = function (request, ...rest) {
  if (request === 'js-nacl') return path.join(__dirname, 'js-nacl.js')
  return resolve.call(this, request, ...rest)
}

const checkout = process.env.PEER
exports.minimaLT = require(path.join(checkout, 'index.js'))
exports.certificate = require(path.join(checkout, 'certificate.js'))

exports.auth = require(path.join(checkout, 'auth.js'))

exports.say = (...words) => process.stdout.write(['interop', ...words].join(' ') + '\n')

exports.listen = (commands) => {
  readline.createInterface({ input: process.stdin }).on('line', (line) => {
    const [name, ...words] = line.split(' ')
    commands[name](...words)
  }).on('close', () => process.exit(0))
}
