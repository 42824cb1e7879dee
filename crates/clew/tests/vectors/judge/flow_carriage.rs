//! The coded carriage.

use clew_tree::carriage::{Code, Error, Rate, ShareTree, TagSize, Tags};

use super::Stop;
use crate::case::Case;

pub const RULES: [&str; 11] = [
    "valid",
    "count",
    "needed",
    "blob-length",
    "share-length",
    "tag-size",
    "tag-length",
    "index",
    "repeated",
    "too-few",
    "padding",
];

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Rule(error.as_str())
    }
}

pub fn judge(case: &Case) -> Result<(), Stop> {
    match case.word("check")? {
        "rate" => rate(case),
        "code" => encode(case),
        "restore" => restore(case),
        "tags" => tree(case),
        "root" => root(case),
        _ => Err(Stop::Wrong("no such check".to_owned())),
    }
}

fn number(case: &Case, name: &str) -> Result<u16, Stop> {
    case.array(name).map(u16::from_be_bytes)
}

fn code(case: &Case) -> Result<Code, Stop> {
    let (count, needed) = (number(case, "count")?, number(case, "needed")?);
    Ok(Code::new(count, needed, number(case, "blob-length")?)?)
}

fn tags(case: &Case) -> Result<Tags, Stop> {
    let [size] = case.array("tag-size")?;
    let size = TagSize::from_bytes(size).ok_or(Stop::Rule("tag-size"))?;
    Ok(Tags::new(case.array("id")?, code(case)?, size))
}

fn rate(case: &Case) -> Result<(), Stop> {
    let [percent] = case.array("percent")?;
    let rate = Rate::new(percent).ok_or(Stop::Rule("percent"))?;
    let needed = rate.needed(number(case, "count")?);
    case.check("needed", needed.to_be_bytes())
}

fn encode(case: &Case) -> Result<(), Stop> {
    let shares = code(case)?.encode(case.bytes("blob")?)?;
    same(&shares, &case.all("share").concat(), "shares")
}

fn restore(case: &Case) -> Result<(), Stop> {
    let code = code(case)?;
    let index = |bytes: &[u8]| bytes.try_into().map(u16::from_be_bytes);
    let indices: Result<Vec<u16>, _> = case.all("index").into_iter().map(index).collect();
    let indices = indices.map_err(|_| Stop::Wrong("an index has two bytes".to_owned()))?;
    let shares: Vec<_> = indices.into_iter().zip(case.all("share")).collect();
    case.check("blob", code.decode(&shares)?)
}

fn tree(case: &Case) -> Result<(), Stop> {
    let (tags, shares) = (tags(case)?, case.all("share"));
    let tree = ShareTree::new(tags, &shares.concat())?;
    case.check("share-root", tree.root())?;
    for ((index, share), tag) in (0..).zip(shares).zip(case.all("tag")) {
        same(&tree.tag(index)?, tag, "tag")?;
        same(&tags.root(index, share, tag)?, &tree.root(), "root")?;
    }
    match case.all("tag").len() == usize::from(tags.code().count()) {
        true => Ok(()),
        false => Err(Stop::Wrong("a tag for each share".to_owned())),
    }
}

fn root(case: &Case) -> Result<(), Stop> {
    let (index, share) = (number(case, "index")?, case.bytes("share")?);
    let root = tags(case)?.root(index, share, case.bytes("tag")?)?;
    case.check("share-root", root)
}

fn same(computed: &[u8], found: &[u8], name: &str) -> Result<(), Stop> {
    let different = || Stop::Wrong(format!("{name}: {} differs", hex::encode(computed)));
    (computed == found).then_some(()).ok_or_else(different)
}
