// Checks a log of clew with the transparency library of the Go project.
//
// Usage: check URL VKEY PROOF
package main

import (
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// The server's certificate is its own; what counts are signatures.
var client = http.Client{Transport: &http.Transport{
	TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
}}

func get(url string) []byte {
	answer, err := client.Get(url)
	must(err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	must(err)
	if answer.StatusCode != 200 {
		must(fmt.Errorf("%s: %s", url, answer.Status))
	}
	return body
}

// tree opens a checkpoint with the key and returns what it states.
func tree(text []byte, key note.Verifier) tlog.Tree {
	opened, err := note.Open(text, note.VerifierList(key))
	must(err)
	lines := strings.Split(opened.Text, "\n")
	if lines[0] != key.Name() {
		must(fmt.Errorf("origin %s", lines[0]))
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	must(err)
	hash, err := tlog.ParseHash(lines[2])
	must(err)
	return tlog.Tree{N: size, Hash: hash}
}

// tiles reads tiles as c2sp.org/tlog-tiles has them: Go's path without the height.
type tiles struct{ url string }

func (tiles) Height() int { return 8 }

func (tiles) SaveTiles([]tlog.Tile, [][]byte) {}

func (t tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	var all [][]byte
	for _, tile := range wanted {
		path := strings.Replace(tile.Path(), "tile/8/", "tile/", 1)
		all = append(all, get(t.url+path))
	}
	return all, nil
}

func main() {
	url := os.Args[1]
	key, err := note.NewVerifier(os.Args[2])
	must(err)
	text, err := os.ReadFile(os.Args[3])
	must(err)
	head, checkpoint, _ := strings.Cut(string(text), "\n\n")
	lines := strings.Split(head, "\n")
	if lines[0] != "c2sp.org/tlog-proof@v1" {
		must(fmt.Errorf("not a proof"))
	}
	entry, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(lines[1], "extra "))
	must(err)
	index, err := strconv.ParseInt(strings.TrimPrefix(lines[2], "index "), 10, 64)
	must(err)
	var proof tlog.RecordProof
	for _, line := range lines[3:] {
		hash, err := tlog.ParseHash(line)
		must(err)
		proof = append(proof, hash)
	}
	old := tree([]byte(checkpoint), key)
	must(tlog.CheckRecord(proof, old.N, old.Hash, index, tlog.RecordHash(entry)))

	now := tree(get(url+"checkpoint"), key)
	reader := tlog.TileHashReader(now, tiles{url})
	consistent, err := tlog.ProveTree(now.N, old.N, reader)
	must(err)
	must(tlog.CheckTree(consistent, now.N, now.Hash, old.N, old.Hash))
	// The entry's leaf by our tiles, in the log of now.
	later, err := tlog.ProveRecord(now.N, index, reader)
	must(err)
	must(tlog.CheckRecord(later, now.N, now.Hash, index, tlog.RecordHash(entry)))
	fmt.Printf("signed, included and consistent: %d of %d, then %d\n", index, old.N, now.N)
}
