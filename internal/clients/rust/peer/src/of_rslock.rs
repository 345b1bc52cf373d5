//! A client with the locks of rslock, on each node of Redis. The TTL is its ttl, and nothing renews a lock.

use std::time::Duration;

use async_trait::async_trait;
use redis::{Client, RedisResult};
use rslock::{Lock, LockError, LockManager};

use crate::{refused, Locks, Result, Settings, Tenure, Wait};

struct Manager {
    clients: Vec<Client>,
    manager: LockManager,
    ttl: Duration,
}

pub fn open(settings: &Settings) -> Result<Box<dyn Locks>> {
    let clients = settings.endpoints.iter().map(|at| connect(at)).collect::<RedisResult<Vec<_>>>()?;
    Ok(Box::new(Manager { manager: LockManager::from_clients(clients.clone()), clients, ttl: settings.ttl }))
}

/// The environment has the URL of a Redis that was there already: the arguments of a process are for all to see.
fn connect(at: &str) -> RedisResult<Client> {
    let url = std::env::var("FENCELAB_REDIS_URL").unwrap_or_default();
    match url.split_once("://") {
        None => Client::open(format!("redis://{at}/")),
        Some((scheme, rest)) => {
            let login = rest.rsplit_once('@').map_or("", |(login, _)| login);
            Client::open(format!("{scheme}://{login}{}{at}/", if login.is_empty() { "" } else { "@" }))
        }
    }
}

#[async_trait]
impl Locks for Manager {
    async fn reach(&self) -> Result<()> {
        for client in &self.clients {
            let mut connection = client.get_multiplexed_async_connection().await?;
            redis::cmd("PING").query_async::<()>(&mut connection).await?;
        }
        Ok(())
    }

    /// lock asks three times, with pauses of 200 ms at most between them. acquire_no_guard does so again and again; it ends
    /// where nobody polls it any more.
    async fn lock(&self, name: &str, wait: &Wait) -> Result<Box<dyn Tenure>> {
        let granted = if wait.once {
            self.manager.lock(name, self.ttl).await
        } else {
            tokio::select! {
                granted = self.manager.acquire_no_guard(name, self.ttl) => granted,
                _ = wait.over() => return refused(),
            }
        };
        match granted {
            Err(LockError::Unavailable) => refused(),
            granted => Ok(Box::new(Held(granted?))),
        }
    }
}

struct Held(Lock);

#[async_trait]
impl Tenure for Held {
    /// The value is of random bytes. gcsim's account writes what is no text in hexadecimal digits.
    fn name(&self) -> (String, i64) {
        let hexadecimal = || self.0.val.iter().map(|byte| format!("{byte:02x}")).collect();
        (String::from_utf8(self.0.val.clone()).unwrap_or_else(|_| hexadecimal()), 0)
    }

    /// is_freed says by an error that the lock is freed.
    async fn held(&self) -> Result<bool> {
        match self.0.lock_manager.is_freed(&self.0).await {
            Err(LockError::RedisKeyMismatch | LockError::RedisKeyNotFound) => Ok(false),
            freed => Ok(!freed?),
        }
    }

    async fn unlock(&self) -> Result<()> {
        self.0.lock_manager.unlock(&self.0).await;
        Ok(())
    }
}
