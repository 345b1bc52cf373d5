//! The half of a client that takes its locks by a library in Rust as it is. It does with the library's locks what a line
//! of its input asks, and answers by a line. What a client does in a scenario is known to the other half alone, which is
//! gcsim's own client: see internal/clients/peer. A library is a file beside this one, and a line of `open`.

mod of_etcd_client;
mod of_rslock;

use std::collections::HashMap;
use std::io::Write;
use std::process::exit;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use http_body_util::BodyExt;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tokio::io::{stdin, AsyncBufReadExt, BufReader};
use tokio::signal::unix::{signal, SignalKind};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout, Instant};
use tokio_util::sync::CancellationToken;

/// Why something was not done.
#[derive(Debug)]
pub enum Failure {
    /// It was not done, and will not be.
    Refused(String),
    /// The tenure was over before it was to be released.
    Over(String),
    /// Nobody knows.
    Unknown(String),
}

pub type Result<T> = std::result::Result<T, Failure>;

impl<E: std::error::Error> From<E> for Failure {
    fn from(err: E) -> Self {
        Failure::Unknown(err.to_string())
    }
}

pub fn refused<T>() -> Result<T> {
    Err(Failure::Refused("another tenure has the lock".into()))
}

/// The locks of a library, for one client.
#[async_trait]
pub trait Locks: Send + Sync {
    /// Asks the lock service for something once, and returns when it has answered.
    async fn reach(&self) -> Result<()>;
    /// Takes a lock until the wait is over.
    async fn lock(&self, name: &str, wait: &Wait) -> Result<Box<dyn Tenure>>;
}

/// A lock that was granted.
#[async_trait]
pub trait Tenure: Send + Sync {
    /// What the lock service's own account calls the tenure, and the token that came with the grant; 0: none did.
    fn name(&self) -> (String, i64);
    /// Asks the library, or by it the lock service, whether the tenure goes on.
    async fn held(&self) -> Result<bool>;
    /// Releases the lock.
    async fn unlock(&self) -> Result<()>;
}

/// For how long a lock is waited for.
pub struct Wait {
    /// The lock is taken if it is free, without a wait.
    pub once: bool,
    until: Instant,
    cancelled: CancellationToken,
}

impl Wait {
    /// A wait of no time has the patience of one request.
    pub fn new(within: Duration, patience: Duration, cancelled: CancellationToken) -> Self {
        let once = within.is_zero();
        Wait { once, until: Instant::now() + if once { patience } else { within }, cancelled }
    }

    /// Returns when nobody waits for the lock any more.
    pub async fn over(&self) {
        tokio::select! {
            _ = tokio::time::sleep_until(self.until) => {}
            _ = self.cancelled.cancelled() => {}
        }
    }
}

/// Texts that have names, in one line, as the form of a web page has them.
struct Fields(Vec<(String, String)>);

impl Fields {
    fn parse(line: &str) -> Self {
        Fields(form_urlencoded::parse(line.as_bytes()).into_owned().collect())
    }

    fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(n, _)| n == name).map(|(_, text)| text.as_str())
    }

    /// The text of that name; "": there is none.
    fn text(&self, name: &str) -> &str {
        self.0.iter().find(|(n, _)| n == name).map_or("", |(_, text)| text)
    }

    /// A time, which is written as a number of nanoseconds.
    fn time(&self, name: &str) -> Duration {
        Duration::from_nanos(self.text(name).parse().unwrap_or(0))
    }

    fn with(mut self, name: &str, text: impl ToString) -> Self {
        self.0.push((name.into(), text.to_string()));
        self
    }
}

/// What is known of the client.
pub struct Settings {
    pub by: String,
    pub token: String,
    pub ttl: Duration,
    pub timeout: Duration,
    pub endpoints: Vec<String>,
}

/// What the libraries do, where a scenario could choose something else.
const KNOWN: [(&str, &[&str]); 6] = [
    ("look", &["", "begin", "nothing", "session", "owner"]),
    ("mode", &["", "exclusive"]),
    ("token", &["", "granted", "revision", "header"]),
    ("unlock", &["", "compare"]),
    ("renew", &["", "none"]),
    ("wait", &["", "0"]),
];

impl Settings {
    fn parse(line: &str) -> Result<Self> {
        let fields = Fields::parse(line);
        for (name, values) in KNOWN {
            let text = fields.text(name);
            if !values.contains(&text) {
                return Err(Failure::Refused(format!("--{name} is {text}, and this client knows {}", values.join(", "))));
            }
        }
        Ok(Settings {
            by: fields.text("by").into(),
            token: fields.text("token").into(),
            ttl: fields.time("ttl"),
            timeout: fields.time("timeout"),
            endpoints: fields.text("endpoints").split(',').map(String::from).collect(),
        })
    }
}

async fn open(settings: &Settings) -> Result<Box<dyn Locks>> {
    match settings.by.as_str() {
        "rslock" => of_rslock::open(settings),
        "etcd-client" => of_etcd_client::open(settings).await,
        by => Err(Failure::Refused(format!("--by is {by}, and this client has no such library"))),
    }
}

#[tokio::main]
async fn main() {
    let line = std::env::args().nth(1).unwrap_or_default();
    exit(match run(&line).await {
        Ok(()) => 0,
        Err(Failure::Refused(text)) => fail(&text, 2), // the library lacks the code for a setting
        Err(Failure::Over(text) | Failure::Unknown(text)) => fail(&text, 1),
    })
}

fn fail(text: &str, status: i32) -> i32 {
    eprintln!("{text}");
    status
}

async fn run(line: &str) -> Result<()> {
    // Signals to end are for the other half, which releases the locks.
    let _ignored = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let settings = Settings::parse(line)?;
    let locks = open(&settings).await?;
    Arc::new(Agent { settings, locks, held: Mutex::default(), waits: Mutex::default() }).obey().await
}

/// A tenure, from the first attempt to take the lock to its release. One thing is done after the other.
#[derive(Default)]
struct Holding {
    tenure: tokio::sync::Mutex<Option<Box<dyn Tenure>>>, // None: there is none yet, or no longer
    released: CancellationToken,
}

struct Agent {
    settings: Settings,
    locks: Box<dyn Locks>,
    held: Mutex<HashMap<String, Arc<Holding>>>,
    waits: Mutex<HashMap<String, CancellationToken>>,
}

impl Agent {
    /// Does what is asked until the input ends, and waits for what is under way.
    async fn obey(self: Arc<Self>) -> Result<()> {
        let mut lines = BufReader::new(stdin()).lines();
        let mut busy = JoinSet::new();
        while let Some(line) = lines.next_line().await? {
            let ask = Fields::parse(&line);
            match ask.text("op") {
                "cancel" => {
                    if let Some(wait) = self.waits.lock().unwrap().get(ask.text("of")) {
                        wait.cancel();
                    }
                    continue;
                }
                "told" => {
                    answer(ask.text("id"), Err(Failure::Refused("this library tells nobody of a loss".into())));
                    continue;
                }
                _ => {}
            }
            let cancelled = CancellationToken::new();
            self.waits.lock().unwrap().insert(ask.text("id").into(), cancelled.clone());
            let of = match ask.text("tenure") {
                "" => Arc::default(),
                id => self.held.lock().unwrap().entry(id.into()).or_default().clone(),
            };
            busy.spawn(self.clone().answer(ask, of, cancelled));
        }
        let all = async { while busy.join_next().await.is_some() {} };
        let _ = timeout(self.settings.timeout, all).await;
        Ok(())
    }

    async fn answer(self: Arc<Self>, ask: Fields, of: Arc<Holding>, cancelled: CancellationToken) {
        let (id, op, tenure) = (ask.text("id"), ask.text("op"), ask.text("tenure"));
        let mut turn = of.tenure.lock().await;
        let done = self.act(&ask, &mut turn, cancelled).await;
        self.waits.lock().unwrap().remove(id);
        answer(id, done);
        if turn.is_none() && ["lock", "unlock"].contains(&op) {
            of.released.cancel();
            self.held.lock().unwrap().remove(tenure);
        } else if op == "lock" {
            tokio::spawn(watch(tenure.to_string(), of.clone(), self.settings.ttl));
        }
    }

    async fn act(&self, ask: &Fields, turn: &mut Option<Box<dyn Tenure>>, cancelled: CancellationToken) -> Result<Fields> {
        let none = Fields(vec![]);
        match (ask.text("op"), turn.as_ref()) {
            ("reach", _) => self.locks.reach().await.map(|()| none),
            ("lock", _) => {
                let wait = Wait::new(ask.time("within"), self.settings.timeout, cancelled);
                let granted = self.locks.lock(ask.text("lock"), &wait).await?;
                if wait.cancelled.is_cancelled() {
                    granted.unlock().await?;
                    return refused();
                }
                let (name, token) = granted.name();
                *turn = Some(granted);
                Ok(none.with("name", name).with("token", token).with("reenters", false))
            }
            ("unlock", Some(tenure)) => {
                let done = tenure.unlock().await;
                if matches!(done, Ok(()) | Err(Failure::Over(_))) {
                    *turn = None;
                }
                done.map(|()| none)
            }
            ("look", _) if ask.text("look") == "acquired" => Err(Failure::Refused("this library has no such question".into())),
            ("look", Some(tenure)) => Ok(none.with("yes", tenure.held().await?)),
            ("send", _) => self.send(ask).await,
            (op, _) => Err(Failure::Refused(format!("the process in Rust does not know {op}"))),
        }
    }

    /// Sends a request to the storage, over a connection of its own.
    async fn send(&self, ask: &Fields) -> Result<Fields> {
        let mut request = http::Request::builder().method(ask.text("method")).uri(ask.text("url"));
        for header in ask.all("header") {
            let (name, value) = header.split_once(": ").unwrap_or((header, ""));
            request = request.header(name, value);
        }
        let client = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build_http::<String>();
        let exchange = async {
            let (head, body) = match client.request(request.body(ask.text("body").to_string())?).await {
                Err(err) if err.is_connect() => return Ok(Fields(vec![]).with("refused", err)), // nothing was sent
                answer => answer?.into_parts(),
            };
            let body = body.collect().await?.to_bytes();
            let said = Fields(vec![]).with("status", head.status.as_u16()).with("body", String::from_utf8_lossy(&body));
            Ok(head.headers.iter().fold(said, |said, (name, value)| {
                said.with("header", format!("{name}: {}", String::from_utf8_lossy(value.as_bytes())))
            }))
        };
        timeout(self.settings.timeout, exchange).await?
    }
}

fn answer(id: &str, done: Result<Fields>) {
    let failed = |end, text| Fields(vec![]).with("end", end).with("text", text);
    let said = match done {
        Ok(learned) => learned.with("end", "ok"),
        Err(Failure::Refused(text)) => failed("no", text),
        Err(Failure::Over(text)) => failed("over", text),
        Err(Failure::Unknown(text)) => failed("unknown", text),
    };
    say(said.with("id", id));
}

fn say(fields: Fields) {
    let line = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields.0).finish();
    let _ = writeln!(std::io::stdout(), "{line}"); // who has gone reads no error either
}

/// Says that a tenure is lost. A library that tells nobody is asked every third of the TTL.
async fn watch(tenure: String, of: Arc<Holding>, ttl: Duration) {
    let mut seen = Instant::now();
    loop {
        tokio::select! {
            _ = of.released.cancelled() => return,
            _ = sleep(ttl / 3) => {}
        }
        let asks = Instant::now();
        let held = match of.tenure.lock().await.as_ref() {
            None => return,
            Some(tenure) => timeout(ttl, tenure.held()).await,
        };
        let goes_on = match held {
            Ok(Ok(held)) => {
                seen = asks;
                held
            }
            _ => asks - seen <= ttl, // it cannot be known
        };
        if !goes_on {
            return say(Fields(vec![]).with("lost", tenure));
        }
    }
}
