//! One connection to PostgreSQL, its settings, and values on it.

use super::url::Server;
use crate::error::StoreError;
use crate::storage::Result;
use crate::storage::value::{Row, Value};
use futures_util::future::try_join_all;
use std::collections::HashMap;
use std::error::Error;
use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, NoTls, Statement};

/// For every connection: what is committed is on the disk, a lock is waited for 10 s, and a change whose
/// process hangs gives its lock up.
const SETTINGS: &str = "SET synchronous_commit = on;
    SET default_transaction_isolation = 'read committed';
    SET lock_timeout = '10s';
    SET idle_in_transaction_session_timeout = '5min';
    SET client_min_messages = warning";

/// How long the server may take for a statement, and for a connection. One that is stopped, or whose disk
/// hangs, is given up then.
const ANSWER_WAIT: Duration = Duration::from_secs(5);
/// The same for a statement that waits for a lock: longer than the server waits for it.
const LOCK_WAIT: Duration = Duration::from_secs(15);

/// Why a statement was not done.
pub(super) enum Failed {
    /// The server or the connection refused.
    Refused(tokio_postgres::Error),
    /// The server did not answer in time.
    Silent,
}

type Answered<T> = std::result::Result<T, Failed>;

pub(super) struct Connection {
    /// Has the task that talks with the server. It runs while an answer is waited for.
    runtime: Runtime,
    client: Client,
    /// Statements by their text, of which this crate has a fixed number.
    statements: HashMap<String, Statement>,
}

impl Connection {
    pub(super) fn new(server: &Server, name: &Path) -> Result<Self> {
        let unreachable = |failed| {
            let error = match failed {
                Failed::Refused(error) => error.into(),
                Failed::Silent => Box::new(io::Error::from(io::ErrorKind::TimedOut)) as _,
            };
            let database = name.to_owned();
            StoreError::Unreachable { database, error }
        };
        outside(|| {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = runtime.enable_all().build().map_err(StoreError::io(name))?;
            let made = wait(&runtime, ANSWER_WAIT, server.0.connect(NoTls));
            let (client, task) = made.map_err(unreachable)?;
            runtime.spawn(task);
            let on = Self {
                runtime,
                client,
                statements: HashMap::new(),
            };
            on.batch(SETTINGS).map_err(unreachable)?;
            let fsync = wait(
                &on.runtime,
                ANSWER_WAIT,
                on.client.query_one("SHOW fsync", &[]),
            );
            match fsync.map_err(unreachable)?.try_get(0) {
                Ok("on") => Ok(on),
                _ => Err(StoreError::NoSync(name.to_owned())),
            }
        })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Runs commands.
    pub(super) fn batch(&self, commands: &str) -> Answered<()> {
        wait(
            &self.runtime,
            ANSWER_WAIT,
            self.client.batch_execute(commands),
        )
    }

    /// Runs a query that may wait for a lock and has one number.
    pub(super) fn lock(&self, query: &str) -> Answered<i64> {
        let row = wait(&self.runtime, LOCK_WAIT, self.client.query_one(query, &[]))?;
        row.try_get(0).map_err(Failed::Refused)
    }

    pub(super) fn query(
        &mut self,
        query: &str,
        values: &[Value<'_>],
    ) -> Answered<Vec<tokio_postgres::Row>> {
        let statement = self.prepared(query)?;
        let (client, values) = (&self.client, parameters(values));
        wait(
            &self.runtime,
            ANSWER_WAIT,
            client.query(&statement, &values),
        )
    }

    /// The same query with each of these values, without waiting for one answer before the next question.
    pub(super) fn query_each(
        &mut self,
        query: &str,
        values: &[Vec<Value<'_>>],
    ) -> Answered<Vec<Vec<tokio_postgres::Row>>> {
        let statement = self.prepared(query)?;
        let values: Vec<_> = values.iter().map(|values| parameters(values)).collect();
        let asked = values
            .iter()
            .map(|values| self.client.query(&statement, values));
        wait(&self.runtime, ANSWER_WAIT, try_join_all(asked))
    }

    pub(super) fn execute(&mut self, command: &str, values: &[Value<'_>]) -> Answered<u64> {
        let statement = self.prepared(command)?;
        let (client, values) = (&self.client, parameters(values));
        wait(
            &self.runtime,
            ANSWER_WAIT,
            client.execute(&statement, &values),
        )
    }

    fn prepared(&mut self, text: &str) -> Answered<Statement> {
        if let Some(statement) = self.statements.get(text) {
            return Ok(statement.clone());
        }
        let words = text.replace('?', "$");
        let made = wait(&self.runtime, ANSWER_WAIT, self.client.prepare(&words))?;
        self.statements.insert(text.to_owned(), made.clone());
        Ok(made)
    }
}

fn wait<T>(
    runtime: &Runtime,
    most: Duration,
    work: impl Future<Output = std::result::Result<T, tokio_postgres::Error>>,
) -> Answered<T> {
    let done = runtime.block_on(async { tokio::time::timeout(most, work).await });
    done.map_err(|_| Failed::Silent)?.map_err(Failed::Refused)
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
pub(super) fn read(row: &tokio_postgres::Row) -> Result<Row> {
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
