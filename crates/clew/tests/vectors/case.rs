//! A case of a vector file, a line of JSON, as `spec/vectors/README.md` describes it.

use std::collections::BTreeSet;
use std::sync::Mutex;

use serde_json::{Map, Value as Json};

use crate::judge::Stop;

/// One line: what to expect, why, and values by name.
#[derive(Debug)]
pub struct Case {
    /// Name of the file, without its end.
    pub format: String,
    pub name: String,
    pub expect: String,
    pub comment: String,
    /// The values of each name, one or more.
    values: Vec<(String, Vec<Value>)>,
    /// Names that were asked for.
    used: Mutex<BTreeSet<String>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Value {
    Hex(Vec<u8>),
    Text(String),
}

impl Case {
    pub fn new(format: &str, name: &str, expect: &str, comment: &str) -> Self {
        Self {
            format: format.to_owned(),
            name: name.to_owned(),
            expect: expect.to_owned(),
            comment: comment.to_owned(),
            values: Vec::new(),
            used: Mutex::default(),
        }
    }

    pub fn hex(self, name: &str, bytes: impl AsRef<[u8]>) -> Self {
        self.with(name, Value::Hex(bytes.as_ref().to_vec()))
    }

    pub fn text(self, name: &str, text: &str) -> Self {
        self.with(name, Value::Text(text.to_owned()))
    }

    fn with(mut self, name: &str, value: Value) -> Self {
        match self.values.iter_mut().find(|(other, _)| other == name) {
            Some((_, values)) => values.push(value),
            None => self.values.push((name.to_owned(), vec![value])),
        }
        self
    }

    /// The case but for the values of a name.
    pub fn without(mut self, name: &str) -> Self {
        self.values.retain(|(other, _)| other != name);
        self
    }

    pub fn texts<T: AsRef<str>>(self, name: &str, all: impl IntoIterator<Item = T>) -> Self {
        all.into_iter().fold(self, |case, one| case.text(name, one.as_ref()))
    }

    /// One line of text each.
    pub fn lines(self, name: &str, text: &str) -> Self {
        self.texts(name, text.lines())
    }

    /// All values of a list.
    pub fn each<T: AsRef<[u8]>>(self, name: &str, all: impl IntoIterator<Item = T>) -> Self {
        all.into_iter().fold(self, |case, one| case.hex(name, one))
    }

    /// The trustee that a reader blames.
    pub fn blames(self, index: u8) -> Self {
        self.hex("culprit", [index])
    }

    /// The case with another group file.
    pub fn in_file(self, file: &str) -> Self {
        self.without("group-file").text("group-file", file)
    }

    /// Format and name, for messages.
    pub fn label(&self) -> String {
        format!("{}/{}", self.format, self.name)
    }

    /// The line of a case begins with this.
    pub fn head(name: &str) -> String {
        format!("{{\"case\": \"{name}\", ")
    }

    pub fn render(&self) -> String {
        let values = self.values.iter().map(|(name, values)| {
            let rendered: Vec<String> = values.iter().map(Value::render).collect();
            match &rendered[..] {
                [one] => format!("{}: {one}", quoted(name)),
                all => format!("{}: [{}]", quoted(name), all.join(", ")),
            }
        });
        let about = [("expect", &self.expect), ("comment", &self.comment)];
        let about = about.map(|(name, text)| format!("{}: {}", quoted(name), quoted(text)));
        let members: Vec<String> = about.into_iter().chain(values).collect();
        format!("{}{}}}", Self::head(&self.name), members.join(", "))
    }

    /// Reads a line; none if it is not in the format.
    pub fn parse(format: &str, line: &str) -> Option<Self> {
        let mut members: Map<String, Json> = serde_json::from_str(line).ok()?;
        let mut about = |name| match members.shift_remove(name)? {
            Json::String(text) => Some(text),
            _ => None,
        };
        let (name, expect, comment) = (about("case")?, about("expect")?, about("comment")?);
        let values = members.into_iter().map(|(name, value)| {
            let all = match value {
                Json::Array(all) => all,
                one => vec![one],
            };
            let all = all.iter().map(|value| Value::parse(value.as_str()?));
            Some((name, all.collect::<Option<_>>()?))
        });
        let case = Self { values: values.collect::<Option<_>>()?, ..Self::new(format, &name, &expect, &comment) };
        (case.render() == line).then_some(case)
    }

    pub fn has(&self, name: &str) -> bool {
        self.values.iter().any(|(n, _)| n == name)
    }

    /// All values of a name as bytes.
    pub fn all(&self, name: &str) -> Vec<&[u8]> {
        self.used.lock().unwrap().insert(name.to_owned());
        let named = self.values.iter().filter(|(n, _)| n == name);
        named.flat_map(|(_, all)| all).map(Value::bytes).collect()
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
        std::str::from_utf8(self.bytes(name)?).map_err(|_| Stop::Wrong(format!("{name} is no text")))
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
        match text.strip_prefix("0x") {
            Some(digits) => hex::decode(digits).ok().map(Self::Hex),
            None => Some(Self::Text(text.to_owned())),
        }
    }

    fn render(&self) -> String {
        match self {
            Self::Hex(bytes) if bytes.is_empty() => quoted(""),
            Self::Hex(bytes) => quoted(&format!("0x{}", hex::encode(bytes))),
            Self::Text(text) => {
                assert!(!text.starts_with("0x"), "{text} would be read as hex");
                quoted(text)
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

/// A string of JSON that needs no escapes.
fn quoted(text: &str) -> String {
    let escaped = |c: char| c == '"' || c == '\\' || c.is_ascii_control();
    assert!(!text.contains(escaped), "{text} needs escapes");
    format!("\"{text}\"")
}
