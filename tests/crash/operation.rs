//! The operations that are cut off: what each needs, does, gives and leaves to be taken back. It
//! knows nothing of when a crash comes.

use tonic::Status;

use super::scene::Scene;
use crate::support::place::PoolKind;
use crate::support::site::{Content, Source, Volume};

/// Names of what an operation makes; `made` comes from the operation, `own` was there before it.
const MADE: &str = "made";
const OWN: &str = "own";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Create(Content),
    /// Of a published volume.
    Clone,
    /// On a pool without shared blocks.
    CloneByCopy,
    /// Of a snapshot.
    Restore,
    /// Of a published volume.
    Snapshot,
    /// Of two published volumes.
    Group,
    Stage(Content),
    /// The first stage of a clone: it gets a UUID of its own.
    StageClone(Content),
    Publish(Content),
    /// Of a published volume, on the controller and then on the node.
    Expand,
    Unpublish,
    Unstage,
    Delete,
    DeleteGroup,
}

/// What an operation gives: the ids of what it made or worked on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gift {
    pub volume: Option<String>,
    pub snapshots: Vec<String>,
    group: Option<String>,
}

impl Gift {
    /// The ids that a listing shows.
    pub fn ids(&self) -> Vec<String> {
        self.volume.iter().chain(&self.snapshots).cloned().collect()
    }
}

/// What is there before an operation begins.
#[derive(Debug, Default)]
pub struct Props {
    own: Option<Volume>,
    source: Option<Source>,
    group: Option<(String, Vec<String>)>,
}

impl Operation {
    pub fn pool(self) -> PoolKind {
        if self == Self::CloneByCopy { PoolKind::Ext4 } else { PoolKind::Xfs }
    }

    /// Once for all points: the volumes in use.
    pub async fn set(self, scene: &mut Scene) {
        match self {
            Self::Group | Self::DeleteGroup => {
                scene.use_volume("used-1", Content::Ext4).await;
                scene.use_volume("used-2", Content::Ext4).await;
            }
            Self::StageClone(content) => drop(scene.use_volume("used-1", content).await),
            _ => drop(scene.use_volume("used-1", Content::Ext4).await),
        }
    }

    /// Before each point.
    pub async fn prepare(self, scene: &Scene) -> Props {
        let site = &scene.site;
        let mut props = Props::default();
        match self {
            Self::Create(_) | Self::Snapshot | Self::Group => {}
            Self::Clone => props.source = Some(Source::Volume(scene.used[0].id.clone())),
            Self::Restore => {
                let snapshot = site.snapshot(OWN, &scene.used[0]).await.unwrap();
                props.source = Some(Source::Snapshot(snapshot));
            }
            Self::StageClone(content) => {
                let source = Source::Volume(scene.used[0].id.clone());
                props.own = Some(site.create(OWN, content, Some(source)).await.unwrap());
            }
            Self::DeleteGroup => {
                let volumes: Vec<_> = scene.used.iter().collect();
                props.group = Some(site.group(MADE, &volumes).await.unwrap());
            }
            Self::CloneByCopy
            | Self::Delete
            | Self::Stage(_)
            | Self::Publish(_)
            | Self::Expand
            | Self::Unpublish
            | Self::Unstage => {
                let own = site.create(OWN, self.content(), None).await.unwrap();
                if self == Self::CloneByCopy {
                    site.mount(&own).await.unwrap();
                    scene.fill(&own);
                    site.unmount(&own).await.unwrap();
                    props.source = Some(Source::Volume(own.id.clone()));
                }
                if matches!(self, Self::Publish(_) | Self::Unstage) {
                    site.stage(&own).await.unwrap();
                }
                if matches!(self, Self::Expand | Self::Unpublish) {
                    site.mount(&own).await.unwrap();
                    scene.fill(&own);
                }
                props.own = Some(own);
            }
        }
        props
    }

    fn content(self) -> Content {
        match self {
            Self::Create(content) | Self::Stage(content) | Self::Publish(content) => content,
            Self::Expand => Content::Xfs,
            Self::CloneByCopy => Content::Block,
            _ => Content::Ext4,
        }
    }

    pub async fn run(self, scene: &Scene, props: &Props) -> Result<Gift, Status> {
        let site = &scene.site;
        let mut gift = Gift { volume: None, snapshots: Vec::new(), group: None };
        let own = || props.own.as_ref().expect("it was prepared");
        match self {
            Self::Create(_) | Self::Clone | Self::CloneByCopy | Self::Restore => {
                let made = site.create(MADE, self.content(), props.source.clone()).await?;
                gift.volume = Some(made.id);
            }
            Self::Snapshot => gift.snapshots.push(site.snapshot(MADE, &scene.used[0]).await?),
            Self::Group => {
                let (group, members) = site.group(MADE, &[&scene.used[0], &scene.used[1]]).await?;
                (gift.group, gift.snapshots) = (Some(group), members);
                gift.snapshots.sort();
            }
            Self::Stage(_) | Self::StageClone(_) => site.stage(own()).await?,
            Self::Publish(_) => site.publish(own()).await?,
            Self::Expand => {
                let bytes = 2 * self.content().bytes();
                site.expand(own(), bytes).await?;
                site.expand_on_node(own(), bytes).await?;
            }
            Self::Unpublish => site.unpublish(own()).await?,
            Self::Unstage => site.unstage(own()).await?,
            Self::Delete => site.delete(own()).await?,
            Self::DeleteGroup => {
                let (group, members) = props.group.as_ref().expect("it was prepared");
                site.delete_group(group, members).await?;
            }
        }
        Ok(gift)
    }

    /// Takes back what was prepared and made; then everything is as it was before `prepare`.
    pub async fn take_back(self, scene: &Scene, props: Props, gift: Gift) {
        let site = &scene.site;
        if self == Self::CloneByCopy {
            let [own, made] = [props.own.as_ref().map(|own| &own.id), gift.volume.as_ref()];
            let [own, made] = [own, made].map(|id| std::fs::read(site.place.image("volumes", id.unwrap())).unwrap());
            assert!(own == made, "the clone is not what its source is");
        }
        if let Some(id) = gift.volume {
            site.host.controller().await.delete_volume(crate::support::requests::delete(&id)).await.unwrap();
        }
        match gift.group {
            Some(group) => site.delete_group(&group, &gift.snapshots).await.unwrap(),
            None => {
                for snapshot in &gift.snapshots {
                    site.delete_snapshot(snapshot).await.unwrap();
                }
            }
        }
        if let Some(Source::Snapshot(snapshot)) = &props.source {
            site.delete_snapshot(snapshot).await.unwrap();
        }
        if let Some(own) = &props.own {
            site.unmount(own).await.unwrap();
            site.delete(own).await.unwrap();
        }
    }
}
