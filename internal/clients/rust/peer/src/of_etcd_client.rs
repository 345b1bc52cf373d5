//! A client with the lock of etcd-client, which is that of etcd's own lock service. The TTL is that of a lease, in whole
//! seconds, and nothing renews it.

use async_trait::async_trait;
use etcd_client::{Client, Error, GetOptions, LockOptions};

use crate::{refused, Failure, Locks, Result, Settings, Tenure, Wait};

struct Etcd {
    client: Client,
    ttl: i64,
    header: bool,
}

pub async fn open(settings: &Settings) -> Result<Box<dyn Locks>> {
    Ok(Box::new(Etcd {
        client: Client::connect(&settings.endpoints, None).await?,
        ttl: settings.ttl.as_secs_f64().ceil() as i64,
        header: settings.token == "header",
    }))
}

#[async_trait]
impl Locks for Etcd {
    async fn reach(&self) -> Result<()> {
        self.client.clone().get("/", None).await?;
        Ok(())
    }

    /// The library waits until the lock is granted. Who does not wait asks before whether somebody stands in the queue.
    async fn lock(&self, name: &str, wait: &Wait) -> Result<Box<dyn Tenure>> {
        let mut client = self.client.clone();
        let queue = GetOptions::new().with_prefix().with_count_only();
        if wait.once && client.get(format!("{name}/"), Some(queue)).await?.count() > 0 {
            return refused();
        }
        let lease = client.lease_grant(self.ttl, None).await?.id();
        let mut waiter = client.clone();
        let granted = tokio::select! {
            granted = waiter.lock(name, Some(LockOptions::new().with_lease(lease))) => granted?,
            _ = wait.over() => {
                client.lease_revoke(lease).await?;
                return refused();
            }
        };
        let key = granted.key().to_vec();
        let revision = match client.get(key.clone(), None).await?.kvs() {
            [found] => found.create_revision(),
            _ => return Err(Failure::Unknown("the key was gone right after the grant".into())),
        };
        let token = granted.header().filter(|_| self.header).map_or(revision, |header| header.revision());
        Ok(Box::new(Held { client, lease, key, revision, token }))
    }
}

/// A tenure: etcd knows it by its key, and by the revision by which the key was made, which is read once.
struct Held {
    client: Client,
    lease: i64,
    key: Vec<u8>,
    revision: i64,
    token: i64,
}

#[async_trait]
impl Tenure for Held {
    fn name(&self) -> (String, i64) {
        (format!("{}@{}", String::from_utf8_lossy(&self.key), self.revision), self.token)
    }

    async fn held(&self) -> Result<bool> {
        Ok(self.client.clone().lease_time_to_live(self.lease, None).await?.ttl() > 0)
    }

    async fn unlock(&self) -> Result<()> {
        let mut client = self.client.clone();
        client.unlock(self.key.clone()).await?;
        match client.lease_revoke(self.lease).await {
            Err(Error::GRpcStatus(status)) if status.message().contains("requested lease not found") => Ok(()), // unlock itself says nothing
            revoked => Ok(revoked.map(|_| ())?),
        }
    }
}
