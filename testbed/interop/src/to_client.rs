use crate::run::{Places, Report};
pub fn run(_: &Places<'_>) -> Result<Report, String> { Ok(Report::default()) }
