//! The world of BenchmarkStateright in Rust: two clients with sessions of their own, a lock with a queue, a storage that
//! checks tokens, and as faults pauses, kills and cuts. It prints how many states there are, and how many seconds it took.

use stateright::{Checker, Model, Property};
use std::time::Instant;

const CLIENTS: usize = 2;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Life {
    #[default]
    Runs,
    Stands,
    Dead,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Asks {
    #[default]
    Nothing,
    Unlock,
    Write,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Request {
    asks: Asks,
    token: u8,
    tenure: u8,
    asked: u8,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Client {
    life: Life,
    cut: bool,
    unaware: bool,
    ticket: u8,
    /// It has lost its place in the queue, and is told so where it asks for the lock the next time.
    over: bool,
    has: u8,
    token: u8,
    doing: Request,
    asked: u8,
}

impl Client {
    fn kept(&self) -> bool {
        self.life == Life::Runs && !self.cut
    }

    /// Loses the place in the queue; false: it has none.
    fn lose(&mut self) -> bool {
        let waits = std::mem::take(&mut self.ticket) != 0;
        self.over |= waits && self.life != Life::Dead;
        waits
    }
}

/// The newest acknowledged change of the key: its client, from 1, its request, and its tenure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Newest {
    by: u8,
    asked: u8,
    under: u8,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct State {
    drawn: u8,
    grants: u8,
    holder: u8,
    owner: u8,
    number: u8,
    clients: [Client; CLIENTS],
    newest: Newest,
    mark: u8,
    used: u8,
    harm: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Lock,
    Queue,
    Leave,
    Unlock,
    Write,
    BeginWrite,
    BeginUnlock,
    Finish,
    Pause,
    Resume,
    Kill,
    Restart,
    Cut,
    Heal,
    AwaitExpiry,
}

use Verb::*;

const VERBS: [Verb; 15] = [
    Lock, Queue, Leave, Unlock, Write, BeginWrite, BeginUnlock, Finish, Pause, Resume, Kill, Restart, Cut, Heal, AwaitExpiry,
];

impl State {
    /// Whether the holder is about to hear of its grant, before anything else comes.
    fn hears(&self) -> bool {
        let c = &self.clients[self.owner as usize];
        self.holder != 0 && c.ticket != 0 && c.doing.asks == Asks::Nothing && c.kept()
    }

    /// Takes a step; false: it cannot come now.
    fn take(&mut self, verb: Verb, i: usize) -> bool {
        let c = &mut self.clients[i];
        let acts = matches!(verb, Lock | Queue | Leave | Unlock | Write | BeginWrite | BeginUnlock | Finish);
        if acts && (c.life != Life::Runs || (c.doing.asks != Asks::Nothing) != (verb == Finish)) {
            return false;
        }
        match verb {
            Lock => return self.lock(i),
            Queue => {
                if c.has != 0 || c.ticket != 0 || c.over || c.cut {
                    return false;
                }
                self.draw(i);
            }
            Leave => return !c.cut && std::mem::take(&mut c.ticket) != 0,
            Unlock | BeginUnlock => {
                if c.has == 0 || c.cut {
                    return false;
                }
                c.doing = Request { asks: Asks::Unlock, token: c.token, tenure: c.has, asked: 0 };
                if verb == Unlock {
                    self.finish(i);
                }
            }
            Write | BeginWrite => {
                let looks = self.holder == c.has || c.unaware;
                if c.has == 0 || verb == BeginWrite && !looks {
                    return false;
                }
                c.asked += 1;
                c.doing = Request { asks: Asks::Write, token: c.token, tenure: c.has, asked: c.asked };
                if verb == Write {
                    self.finish(i);
                }
            }
            Finish => self.finish(i),
            Pause if c.life == Life::Runs => c.life = Life::Stands,
            Resume if c.life == Life::Stands => c.life = Life::Runs,
            Kill if c.life != Life::Dead => {
                *c = Client { life: Life::Dead, cut: c.cut, ticket: c.ticket, asked: c.asked, ..Client::default() }
            }
            Restart if c.life == Life::Dead && !c.cut && c.ticket == 0 && (self.holder == 0 || self.owner as usize != i) => {
                c.life = Life::Runs
            }
            Cut if c.life != Life::Dead && !c.cut => c.cut = true,
            Heal if c.cut => c.cut = false,
            AwaitExpiry if !c.kept() => {
                if self.holder != 0 && self.owner as usize == i {
                    self.end();
                } else {
                    return c.lose();
                }
            }
            _ => return false,
        }
        true
    }

    fn lock(&mut self, i: usize) -> bool {
        let c = &self.clients[i];
        if c.cut || c.has != 0 && (c.has == self.holder || c.unaware) {
            return false;
        }
        if c.ticket == 0 {
            self.draw(i);
        }
        if self.holder == 0 || self.owner as usize != i {
            return false; // it would wait
        }
        let c = &mut self.clients[i];
        c.has = self.holder;
        c.token = self.number;
        c.unaware = false;
        c.ticket = 0;
        true
    }

    fn draw(&mut self, i: usize) {
        self.drawn += 1;
        self.clients[i].ticket = self.drawn;
        self.clients[i].over = false;
        self.pass();
    }

    /// Gives the lock, if it is free, to the first one in the queue.
    fn pass(&mut self) {
        if self.holder != 0 {
            return;
        }
        let first = (0..CLIENTS).filter(|&i| self.clients[i].ticket != 0).min_by_key(|&i| self.clients[i].ticket);
        if let Some(i) = first {
            self.grants += 1;
            self.holder = self.grants;
            self.owner = i as u8;
            self.number = self.clients[i].ticket;
        }
    }

    fn end(&mut self) {
        for c in &mut self.clients {
            if c.has == self.holder {
                c.unaware = c.life == Life::Stands;
            }
        }
        self.clients[self.owner as usize].lose();
        self.holder = 0;
        self.number = 0;
        self.drawn += 1;
        self.pass();
    }

    fn finish(&mut self, i: usize) {
        let r = std::mem::take(&mut self.clients[i].doing);
        if r.asks == Asks::Write {
            return self.store(i, r);
        }
        if self.clients[i].has == r.tenure {
            self.clients[i].has = 0;
        }
        if self.holder != 0 && r.tenure == self.holder {
            self.end();
        }
    }

    /// Has the storage check a write, and do it.
    fn store(&mut self, i: usize, r: Request) {
        if r.token < self.mark {
            self.harm |= r.tenure == self.holder;
            return;
        }
        self.mark = r.token;
        self.harm |= r.tenure < self.used;
        self.used = self.used.max(r.tenure);
        let client = i as u8 + 1;
        if self.newest.by == client && self.newest.under == r.tenure && self.newest.asked > r.asked {
            self.harm = true;
            return;
        }
        self.newest = Newest { by: client, asked: r.asked, under: r.tenure };
    }

    /// Leaves out what can no longer matter, and gives numbers their order alone.
    fn canonical(mut self) -> State {
        if self.holder == 0 {
            self.owner = 0;
        }
        if self.newest.by != 0 {
            let doing = &self.clients[self.newest.by as usize - 1].doing;
            if doing.asks == Asks::Nothing || doing.tenure != self.newest.under {
                self.newest = Newest::default();
            }
        }
        for i in 0..CLIENTS {
            let c = &mut self.clients[i];
            if c.has == 0 {
                c.token = 0;
                c.unaware = false;
            }
            let mut none = 0;
            let newest = if self.newest.by as usize == i + 1 { &mut self.newest.asked } else { &mut none };
            rank([&mut c.doing.asked, &mut c.asked, newest]);
        }
        let [a, b] = &mut self.clients;
        rank([
            &mut self.drawn, &mut self.number, &mut self.mark, &mut a.ticket, &mut a.token, &mut a.doing.token, &mut b.ticket,
            &mut b.token, &mut b.doing.token,
        ]);
        rank([
            &mut self.grants, &mut self.holder, &mut self.used, &mut self.newest.under, &mut a.has, &mut a.doing.tenure,
            &mut b.has, &mut b.doing.tenure,
        ]);
        self
    }
}

/// Replaces numbers by their ranks. 0 stays.
fn rank<const N: usize>(numbers: [&mut u8; N]) {
    let mut present = 0u64;
    for n in &numbers {
        present |= 1 << **n;
    }
    present &= !1;
    for n in numbers {
        *n = (present << (63 - *n)).count_ones() as u8;
    }
}

struct World;

impl Model for World {
    type State = State;
    type Action = (Verb, usize);

    fn init_states(&self) -> Vec<State> {
        vec![State::default()]
    }

    fn actions(&self, s: &State, actions: &mut Vec<Self::Action>) {
        if s.hears() {
            actions.push((Lock, s.owner as usize));
            return;
        }
        for i in 0..CLIENTS {
            actions.extend(VERBS.map(|verb| (verb, i)));
        }
    }

    fn next_state(&self, last: &State, (verb, i): Self::Action) -> Option<State> {
        let mut s = last.clone();
        s.take(verb, i).then(|| s.canonical())
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("no story does harm", |_, s: &State| !s.harm)]
    }
}

fn main() {
    let began = Instant::now();
    let checker = World.checker().threads(1).spawn_bfs().join();
    checker.assert_properties();
    println!("{} {}", checker.unique_state_count(), began.elapsed().as_secs_f64());
}
