//! One connection to PostgreSQL, its settings, and values on it.

use super::url::Server;
use crate::error::StoreError;
use crate::storage::Result;
use crate::storage::value::{Row, Value};
use postgres::types::private::BytesMut;
use postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use postgres::{Client, Statement};
use std::collections::HashMap;
use std::error::Error;
use std::path::Path;
use std::thread;

/// For every connection: what is committed is on the disk, a lock is waited for 10 s, and a change whose
/// process hangs gives its lock up.
const SETTINGS: &str = "SET synchronous_commit = on;
    SET default_transaction_isolation = 'read committed';
    SET lock_timeout = '10s';
    SET idle_in_transaction_session_timeout = '5min';
    SET client_min_messages = warning";

type Answered<T> = std::result::Result<T, postgres::Error>;

pub(super) struct Connection {
    pub(super) client: Client,
    /// Statements by their text, of which this crate has a fixed number.
    statements: HashMap<String, Statement>,
}

impl Connection {
    pub(super) fn new(server: &Server, name: &Path) -> Result<Self> {
        let unreachable = |error: postgres::Error| StoreError::Unreachable {
            database: name.to_owned(),
            error: error.into(),
        };
        outside(|| {
            let mut client = server.connect().map_err(unreachable)?;
            client.batch_execute(SETTINGS).map_err(unreachable)?;
            let fsync = client.query_one("SHOW fsync", &[]).map_err(unreachable)?;
            let statements = HashMap::new();
            match fsync.try_get(0) {
                Ok("on") => Ok(Self { client, statements }),
                _ => Err(StoreError::NoSync(name.to_owned())),
            }
        })
    }

    pub(super) fn query(
        &mut self,
        query: &str,
        values: &[Value<'_>],
    ) -> Answered<Vec<postgres::Row>> {
        let statement = self.prepared(query)?;
        self.client.query(&statement, &parameters(values))
    }

    pub(super) fn execute(&mut self, command: &str, values: &[Value<'_>]) -> Answered<u64> {
        let statement = self.prepared(command)?;
        self.client.execute(&statement, &parameters(values))
    }

    fn prepared(&mut self, text: &str) -> Answered<Statement> {
        if let Some(statement) = self.statements.get(text) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(&text.replace('?', "$"))?;
        self.statements.insert(text.to_owned(), statement.clone());
        Ok(statement)
    }
}

fn parameters<'v>(values: &'v [Value<'v>]) -> Vec<&'v (dyn ToSql + Sync)> {
    values
        .iter()
        .map(|value| value as &(dyn ToSql + Sync))
        .collect()
}

/// Runs something that waits for the server. In a thread of a runtime that is another thread's work: the
/// client has a runtime of its own, and two cannot stand in one thread.
pub(super) fn outside<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    if tokio::runtime::Handle::try_current().is_err() {
        return work();
    }
    thread::scope(|scope| {
        let done = scope.spawn(work).join();
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Ends a connection, which tells the server so.
pub(super) fn end(connection: Option<Connection>) {
    outside(|| drop(connection));
}

impl ToSql for Value<'_> {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> std::result::Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Value::Null => Ok(IsNull::Yes),
            Value::Integer(value) => value.to_sql(ty, out),
            Value::Text(text) => text.as_ref().to_sql(ty, out),
            Value::Blob(bytes) => bytes.as_ref().to_sql(ty, out),
        }
    }

    fn accepts(ty: &Type) -> bool {
        [Type::INT8, Type::TEXT, Type::BYTEA].contains(ty)
    }

    to_sql_checked!();
}

/// A row's values.
pub(super) fn read(row: &postgres::Row) -> Result<Row> {
    let value = |at: usize| match *row.columns()[at].type_() {
        Type::INT8 => Some(row.try_get::<_, Option<i64>>(at).ok()?.map(Value::from)),
        Type::TEXT => {
            let text = row.try_get::<_, Option<String>>(at).ok()?;
            Some(text.map(|text| Value::Text(text.into())))
        }
        Type::BYTEA => Some(row.try_get::<_, Option<Vec<u8>>>(at).ok()?.map(Value::from)),
        _ => None,
    };
    let values = (0..row.len()).map(|at| value(at).map(|value| value.unwrap_or(Value::Null)));
    let values = values.collect::<Option<Vec<_>>>();
    let other = || StoreError::Damaged("a value of the database has another type".to_owned());
    Ok(Row::new(values.ok_or_else(other)?))
}
