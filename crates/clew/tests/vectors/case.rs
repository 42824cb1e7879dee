//! The text format of a vector, as `spec/vectors/README.md` describes it.

use std::collections::BTreeSet;
use std::sync::Mutex;

use crate::judge::Stop;

/// One file: what to expect, why, and values by name.
#[derive(Debug)]
pub struct Case {
    /// Folder and file name, `packet-trailer/nat.txt`.
    pub path: String,
    pub expect: String,
    pub comment: String,
    values: Vec<(String, Value)>,
    /// Names that were asked for.
    used: Mutex<BTreeSet<String>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Value {
    Hex(Vec<u8>),
    Text(String),
}

impl Case {
    pub fn new(folder: &str, name: &str, expect: &str, comment: &str) -> Self {
        Self {
            path: format!("{folder}/{name}.txt"),
            expect: expect.to_owned(),
            comment: comment.to_owned(),
            values: Vec::new(),
            used: Mutex::default(),
        }
    }

    pub fn hex(mut self, name: &str, bytes: impl AsRef<[u8]>) -> Self {
        let value = Value::Hex(bytes.as_ref().to_vec());
        self.values.push((name.to_owned(), value));
        self
    }

    pub fn text(mut self, name: &str, text: &str) -> Self {
        let value = Value::Text(text.to_owned());
        self.values.push((name.to_owned(), value));
        self
    }

    /// The case but for the values of a name.
    pub fn without(mut self, name: &str) -> Self {
        self.values.retain(|(other, _)| other != name);
        self
    }

    /// One line of text each.
    pub fn lines(self, name: &str, text: &str) -> Self {
        text.lines().fold(self, |case, line| case.text(name, line))
    }

    pub fn render(&self) -> String {
        let mut out = format!("expect: {}\ncomment: {}\n", self.expect, self.comment);
        for (name, value) in &self.values {
            match value {
                Value::Hex(bytes) if bytes.is_empty() => out += &format!("{name}: \"\"\n"),
                Value::Hex(bytes) => out += &format!("{name}: {}\n", hex::encode(bytes)),
                Value::Text(text) => out += &format!("{name}: \"{text}\"\n"),
            }
        }
        out
    }

    /// Reads a file; none if it is not in the format.
    pub fn parse(path: &str, text: &str) -> Option<Self> {
        let mut lines = text.lines().map(|line| line.split_once(": "));
        let (Some(("expect", expect)), Some(("comment", comment))) = (lines.next()?, lines.next()?)
        else {
            return None;
        };
        let values = lines
            .map(|line| {
                let (name, value) = line?;
                Some((name.to_owned(), Value::parse(value)?))
            })
            .collect::<Option<_>>()?;
        Some(Self {
            path: path.to_owned(),
            expect: expect.to_owned(),
            comment: comment.to_owned(),
            values,
            used: Mutex::default(),
        })
    }

    /// Folder of the file.
    pub fn folder(&self) -> &str {
        self.path.split('/').next().unwrap_or_default()
    }

    pub fn has(&self, name: &str) -> bool {
        self.values.iter().any(|(n, _)| n == name)
    }

    /// All values of a name as bytes.
    pub fn all(&self, name: &str) -> Vec<&[u8]> {
        self.used.lock().unwrap().insert(name.to_owned());
        let named = self.values.iter().filter(|(n, _)| n == name);
        named.map(|(_, value)| value.bytes()).collect()
    }

    /// The one value of a name.
    pub fn bytes(&self, name: &str) -> Result<&[u8], Stop> {
        match self.all(name)[..] {
            [value] => Ok(value),
            _ => Err(Stop::Wrong(format!("there is not one {name:?}"))),
        }
    }

    pub fn array<const N: usize>(&self, name: &str) -> Result<[u8; N], Stop> {
        let wrong = || Stop::Wrong(format!("{name} has not {N} bytes"));
        self.bytes(name)?.try_into().map_err(|_| wrong())
    }

    pub fn u32(&self, name: &str) -> Result<u32, Stop> {
        self.array(name).map(u32::from_be_bytes)
    }

    pub fn u64(&self, name: &str) -> Result<u64, Stop> {
        self.array(name).map(u64::from_be_bytes)
    }

    pub fn word(&self, name: &str) -> Result<&str, Stop> {
        std::str::from_utf8(self.bytes(name)?)
            .map_err(|_| Stop::Wrong(format!("{name} is no text")))
    }

    /// The text that the lines of a name make.
    pub fn joined(&self, name: &str) -> Result<String, Stop> {
        let lines = self.all(name).into_iter().flat_map(|l| [l, b"\n"].concat());
        String::from_utf8(lines.collect()).map_err(|_| Stop::Wrong(format!("{name} is no text")))
    }

    /// Compares what was computed with the value of that name, which has to be there.
    pub fn check(&self, name: &str, computed: impl AsRef<[u8]>) -> Result<(), Stop> {
        let (found, computed) = (self.bytes(name)?, computed.as_ref());
        if found == computed {
            return Ok(());
        }
        let computed = hex::encode(computed);
        Err(Stop::Wrong(format!("{name} is not {computed}")))
    }

    /// Names that nobody asked for: a value that is not checked is a mistake in the file.
    pub fn unused(&self) -> Vec<&str> {
        let used = self.used.lock().unwrap();
        let names = self.values.iter().map(|(name, _)| name.as_str());
        names.filter(|name| !used.contains(*name)).collect()
    }
}

impl Value {
    fn parse(text: &str) -> Option<Self> {
        let quoted = text.strip_prefix('"').and_then(|t| t.strip_suffix('"'));
        match quoted {
            Some(text) => Some(Self::Text(text.to_owned())),
            None => {
                let lower = !text.contains(|c: char| c.is_ascii_uppercase());
                hex::decode(text).ok().filter(|_| lower).map(Self::Hex)
            }
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::Hex(bytes) => bytes,
            Self::Text(text) => text.as_bytes(),
        }
    }
}
