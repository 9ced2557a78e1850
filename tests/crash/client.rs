//! A client with a few objects of its own and what it was told of them. It asks for one thing after
//! the other, and repeats what got no answer. It knows nothing of kills but that answers may not come.

use tonic::Status;

use super::scene::{Scene, Standing};
use crate::support::requests;
use crate::support::site::{Content, Site, Source, Volume};

/// What the two volumes of each client hold.
const CLIENTS: [[Content; 2]; 4] = [
    [Content::Ext4, Content::Block],
    [Content::Directory, Content::Ext4],
    [Content::Block, Content::Directory],
    [Content::Ext4, Content::Ext4],
];
/// By so much a volume grows at once, in bytes.
const GROWTH: i64 = 8 << 20;
/// To so much, at most.
const LARGEST: i64 = 256 << 20;

/// Numbers that follow from a seed.
#[derive(Debug)]
pub struct Random(pub u64);

impl Random {
    /// A number from 0 on, below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % end
    }
}

/// What a client asks for; the number is that of one of its volumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    Create(usize),
    Delete(usize),
    Stage(usize),
    Unstage(usize),
    Publish(usize),
    Unpublish(usize),
    Expand(usize),
    ExpandOnNode(usize),
    Snapshot,
    DeleteSnapshot,
    Clone,
    DeleteClone,
    Group,
    DeleteGroup,
}

/// How far a volume is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Use {
    Idle,
    Staged,
    Published,
}

#[derive(Debug)]
struct Slot {
    content: Content,
    volume: Option<Volume>,
    usage: Use,
    written: bool,
    bytes: i64,
}

/// A client and what it was told. Its objects are its own.
#[derive(Debug)]
pub struct Client {
    number: usize,
    random: Random,
    slots: [Slot; 2],
    snapshot: Option<String>,
    copy: Option<Volume>,
    group: Option<(String, Vec<String>)>,
    pending: Option<Wish>,
}

impl Client {
    /// One of each kind.
    pub fn all(seed: u64) -> Vec<Self> {
        (0..CLIENTS.len()).map(|number| Self::new(number, seed)).collect()
    }

    /// What got no answer, in words.
    pub fn unanswered(&self) -> String {
        format!("client {}: {:?} was not answered", self.number, self.pending)
    }

    fn new(number: usize, seed: u64) -> Self {
        let slot =
            |content: Content| Slot { content, volume: None, usage: Use::Idle, written: false, bytes: content.bytes() };
        let random = Random(seed.wrapping_add(1 + number as u64).wrapping_mul(0x2545_F491_4F6C_DD1D));
        let slots = CLIENTS[number].map(slot);
        Self { number, random, slots, snapshot: None, copy: None, group: None, pending: None }
    }

    /// Asks for one thing after the other until there is no answer.
    pub async fn work(&mut self, scene: &Scene) {
        loop {
            let wishes = self.wishes();
            let wish = wishes[usize::try_from(self.random.below(wishes.len() as u64)).unwrap()];
            self.pending = Some(wish);
            match self.ask(&scene.site, wish).await {
                Ok(()) => self.pending = None,
                Err(_) if scene.tap.has_fired() => return,
                Err(status) => panic!("client {}: {wish:?}: {status:?}", self.number),
            }
            self.write(scene);
        }
    }

    /// Repeats what got no answer.
    pub async fn repeat(&mut self, scene: &Scene) {
        if let Some(wish) = self.pending.take() {
            let told = self.ask(&scene.site, wish).await;
            told.unwrap_or_else(|status| panic!("client {}: {wish:?}, repeated: {status:?}", self.number));
            self.write(scene);
        }
    }

    /// What makes sense now.
    fn wishes(&self) -> Vec<Wish> {
        let mut wishes = Vec::new();
        for (number, slot) in self.slots.iter().enumerate() {
            match (&slot.volume, slot.usage) {
                (None, _) => wishes.push(Wish::Create(number)),
                (Some(_), Use::Idle) => wishes.extend([Wish::Stage(number), Wish::Stage(number), Wish::Delete(number)]),
                (Some(_), Use::Staged) => wishes.extend([Wish::Publish(number), Wish::Unstage(number)]),
                (Some(_), Use::Published) => wishes.push(Wish::Unpublish(number)),
            }
        }
        let [first, second] = &self.slots;
        // Of the first volume clones are made, which would have to grow with it.
        if second.volume.is_some() && second.bytes < LARGEST {
            wishes.push(Wish::Expand(1));
        }
        if second.usage == Use::Published && second.content != Content::Ext4 {
            wishes.push(Wish::ExpandOnNode(1));
        }
        if self.snapshot.is_some() {
            wishes.push(Wish::DeleteSnapshot);
        } else if first.can_be_cut() {
            wishes.push(Wish::Snapshot);
        }
        if self.copy.is_some() {
            wishes.push(Wish::DeleteClone);
        } else if first.can_be_cut() {
            wishes.push(Wish::Clone);
        }
        let is_raw = |slot: &Slot| slot.content == Content::Block && slot.usage == Use::Published;
        if self.group.is_some() {
            wishes.push(Wish::DeleteGroup);
        } else if self.slots.iter().all(|slot| slot.can_be_cut() && !is_raw(slot)) {
            wishes.push(Wish::Group);
        }
        wishes
    }

    /// Asks, and remembers what was answered.
    async fn ask(&mut self, site: &Site, wish: Wish) -> Result<(), Status> {
        let own = |number: usize| self.slots[number].volume.as_ref().expect("it is there");
        let name = |what: &str| format!("client-{}-{what}", self.number);
        match wish {
            Wish::Create(number) => {
                let content = self.slots[number].content;
                let volume = site.create(&name(&number.to_string()), content, None).await?;
                let bytes = content.bytes();
                self.slots[number] = Slot { content, volume: Some(volume), usage: Use::Idle, written: false, bytes };
            }
            Wish::Delete(number) => {
                site.delete(own(number)).await?;
                self.slots[number].volume = None;
            }
            Wish::Stage(number) => {
                site.stage(own(number)).await?;
                self.slots[number].usage = Use::Staged;
            }
            Wish::Unstage(number) => {
                site.unstage(own(number)).await?;
                self.slots[number].usage = Use::Idle;
            }
            Wish::Publish(number) => {
                site.publish(own(number)).await?;
                self.slots[number].usage = Use::Published;
            }
            Wish::Unpublish(number) => {
                site.unpublish(own(number)).await?;
                self.slots[number].usage = Use::Staged;
            }
            Wish::Expand(number) => {
                let bytes = self.slots[number].bytes + GROWTH;
                assert_eq!(site.expand(own(number), bytes).await?, bytes);
                self.slots[number].bytes = bytes;
            }
            Wish::ExpandOnNode(number) => {
                site.expand_on_node(own(number), self.slots[number].bytes).await?;
            }
            Wish::Snapshot => self.snapshot = Some(site.snapshot(&name("snapshot"), own(0)).await?),
            Wish::DeleteSnapshot => {
                site.delete_snapshot(self.snapshot.as_ref().expect("it is there")).await?;
                self.snapshot = None;
            }
            Wish::Clone => {
                let source = Source::Volume(own(0).id.clone());
                self.copy = Some(site.create(&name("copy"), self.slots[0].content, Some(source)).await?);
            }
            Wish::DeleteClone => {
                site.delete(self.copy.as_ref().expect("it is there")).await?;
                self.copy = None;
            }
            Wish::Group => self.group = Some(site.group(&name("group"), &[own(0), own(1)]).await?),
            Wish::DeleteGroup => {
                let (group, members) = self.group.as_ref().expect("it is there");
                site.delete_group(group, members).await?;
                self.group = None;
            }
        }
        Ok(())
    }

    /// Writes into volumes that were published for the first time.
    fn write(&mut self, scene: &Scene) {
        for slot in self.slots.iter_mut().filter(|slot| slot.usage == Use::Published && !slot.written) {
            scene.fill(slot.volume.as_ref().expect("it is published"));
            slot.written = true;
        }
    }

    /// Everything that was acknowledged is listed, unless it is being deleted.
    pub fn check(&self, standing: &Standing) {
        for (number, slot) in self.slots.iter().enumerate() {
            let listed = slot.volume.as_ref().is_none_or(|volume| standing.volumes.contains(&volume.id));
            assert!(listed || self.pending == Some(Wish::Delete(number)), "{slot:?} is gone");
        }
        let listed = self.copy.as_ref().is_none_or(|volume| standing.volumes.contains(&volume.id));
        assert!(listed || self.pending == Some(Wish::DeleteClone), "{:?} is gone", self.copy);
        let listed = self.snapshot.as_ref().is_none_or(|snapshot| standing.snapshots.contains(snapshot));
        assert!(listed || self.pending == Some(Wish::DeleteSnapshot), "{:?} is gone", self.snapshot);
        if let Some((_, members)) = &self.group {
            let listed = members.iter().filter(|member| standing.snapshots.contains(*member)).count();
            let gone = listed == 0 && self.pending == Some(Wish::DeleteGroup);
            assert!(listed == members.len() || gone, "{listed} of {:?} are left", self.group);
        }
    }

    /// Volumes that are published for certain and written to.
    pub fn written(&self) -> impl Iterator<Item = &Volume> {
        let certain = |number: usize| self.pending != Some(Wish::Unpublish(number));
        let slots = self.slots.iter().enumerate();
        let used = slots.filter(move |(number, slot)| slot.usage == Use::Published && slot.written && certain(*number));
        used.filter_map(|(_, slot)| slot.volume.as_ref())
    }

    /// The ids of its volumes.
    pub fn volume_ids(&self) -> impl Iterator<Item = &String> {
        self.slots.iter().filter_map(|slot| slot.volume.as_ref()).chain(&self.copy).map(|volume| &volume.id)
    }

    /// The ids of its snapshots, those of groups too.
    pub fn snapshot_ids(&self) -> impl Iterator<Item = &String> {
        self.snapshot.iter().chain(self.group.iter().flat_map(|(_, members)| members))
    }

    /// The id of its group snapshot.
    pub fn group_id(&self) -> Option<&String> {
        self.group.as_ref().map(|(id, _)| id)
    }

    /// How many names it uses.
    pub fn names(&self) -> usize {
        self.volume_ids().count() + usize::from(self.snapshot.is_some()) + usize::from(self.group.is_some())
    }

    /// Takes everything back.
    pub async fn end(&mut self, scene: &Scene) {
        let site = &scene.site;
        if let Some((group, members)) = self.group.take() {
            site.delete_group(&group, &members).await.unwrap();
        }
        if let Some(snapshot) = self.snapshot.take() {
            site.delete_snapshot(&snapshot).await.unwrap();
        }
        for volume in self.slots.iter_mut().filter_map(|slot| slot.volume.take()).chain(self.copy.take()) {
            site.unmount(&volume).await.unwrap();
            let request = requests::delete(&volume.id);
            site.host.controller().await.delete_volume(request).await.unwrap();
        }
    }
}

impl Slot {
    /// Whether a snapshot or clone can be made of it as it is used now.
    fn can_be_cut(&self) -> bool {
        self.volume.is_some() && !(self.content == Content::Directory && self.usage == Use::Published)
    }
}
