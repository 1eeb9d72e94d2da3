//! Synthetic experiences and questions, the same in every run: half Chinese, words by Zipf's law.

use protocol::hub::{NewExperience, NewKnowledge, Origin};

/// How many words each language has; the first ones are real, the rest is made of syllables and characters.
const WORDS: usize = 20_000;

/// How many resource names there are.
const NAMES: usize = 5_000;

const ENGLISH: &str = "data table file parse extract page model error image search request query \
    token agent index cache stream schema column field prompt session browser layout python server \
    client update memory vector cluster package timeout retry parser format convert upload download \
    markdown export import merge batch worker thread async socket header cookie login proxy crawler \
    selector element click screenshot video audio caption translate summary embedding rerank chunk \
    context window dataset training finetune inference latency throughput benchmark database \
    transaction backup migration container network certificate permission credential plugin \
    extension template render chart figure formula citation bibliography reference paragraph";

const CHINESE: &str = "数据 表格 文件 解析 提取 页面 模型 错误 图片 搜索 请求 查询 文本 内容 索引 缓存 流式 结构 \
    字段 列表 提示 会话 浏览 布局 脚本 服务 客户 更新 内存 向量 集群 依赖 超时 重试 格式 转换 上传 下载 文档 导出 \
    导入 合并 批量 线程 异步 接口 登录 代理 爬虫 元素 点击 截图 视频 音频 字幕 翻译 摘要 嵌入 排序 分块 上下 窗口 \
    训练 微调 推理 延迟 吞吐 基准 数据库 事务 备份 迁移 容器 网络 证书 权限 凭证 插件 扩展 模板 渲染 图表 公式 引用";

const SYLLABLES: [&str; 20] = [
    "ba", "co", "di", "fu", "ge", "hi", "jo", "ka", "lu", "me", "ni", "po", "qua", "re", "si",
    "ta", "vo", "wex", "yan", "zim",
];

const CHARACTERS: &str = "安白班北本边变标部材层查长常场车成程持出处川传窗创春词次从村达带单当导道德灯等低底地点\
    电定东动度段对多二发法反方房放飞分风封服福改感高格根工公功光广规国果海含航合河黑红后湖花化画话环黄回活火基机级极\
    集计技家价间建江将角接街节结解界金进京经景境静局具均卡科课空口快矿理力历立连量林流龙路旅绿马满门密面民明命木目南能年农";

const CATEGORIES: [&str; 8] = ["library", "api", "mcp", "skill", "paper", "blog", "book", "course"];

const TYPES: [&str; 5] = ["tool", "strategy", "case", "definition", "user_prefer"];

/// A language of the corpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Words with spaces between them.
    English,
    /// Words of two characters, mostly without anything between them.
    Chinese,
}

/// Makes the rows and the words of questions.
pub struct Corpus {
    english: Vec<String>,
    chinese: Vec<String>,
    words: Zipf,
    names: Zipf,
}

impl Default for Corpus {
    fn default() -> Self {
        Self {
            english: vocabulary(ENGLISH, made_up_english),
            chinese: vocabulary(CHINESE, made_up_chinese),
            words: Zipf::new(WORDS),
            names: Zipf::new(NAMES),
        }
    }
}

impl Corpus {
    /// Returns row number `index`; even ones are English, odd ones Chinese.
    pub fn experience(&self, index: u64) -> NewExperience {
        let mut random = Random(index.wrapping_mul(0x2545_f491_4f6c_dd1d));
        let language = if index.is_multiple_of(2) { Language::English } else { Language::Chinese };
        let name = self.names.draw(&mut random);
        let score = random.below(6) as u8;
        NewExperience {
            name: self.name(name),
            url: format!("https://example.org/{}", self.name(name)),
            category: CATEGORIES[name % CATEGORIES.len()].to_owned(),
            task: self.text(language, 8 + random.below(8), &mut random),
            score: (score > 0).then_some(score),
            outcome: self.text(language, 10 + random.below(14), &mut random),
            tips: self.text(language, 6 + random.below(8), &mut random),
            submitted_by: format!("agent-{}@example.org", random.below(200)),
            ..NewExperience::default()
        }
    }

    /// Returns knowledge record number `index`; even ones are English, odd ones Chinese.
    ///
    /// One in five is a `tool`, and one in a thousand is of each scope `project:0` to `project:999`.
    pub fn knowledge(&self, index: u64) -> NewKnowledge {
        let mut random = Random(index.wrapping_mul(0x2545_f491_4f6c_dd1d).wrapping_add(1));
        let language = if index.is_multiple_of(2) { Language::English } else { Language::Chinese };
        let name = self.name(self.names.draw(&mut random));
        NewKnowledge {
            task: self.text(language, 8 + random.below(8), &mut random),
            content: self.text(language, 20 + random.below(40), &mut random),
            types: vec![TYPES[random.below(TYPES.len())].to_owned()],
            tags: [("domain".to_owned(), self.word(language, random.below(20)).to_owned())].into(),
            scopes: vec![format!("project:{}", random.below(1_000))],
            owner: format!("agent:{}", random.below(200)),
            source: Origin { name, ..Origin::default() },
            ..NewKnowledge::default()
        }
    }

    /// Returns the word of this rank; rank 0 is the most frequent.
    pub fn word(&self, language: Language, rank: usize) -> &str {
        match language {
            Language::English => &self.english[rank],
            Language::Chinese => &self.chinese[rank],
        }
    }

    /// Returns the category of every eighth name.
    pub fn category(rank: usize) -> &'static str {
        CATEGORIES[rank % CATEGORIES.len()]
    }

    fn name(&self, rank: usize) -> String {
        format!("{}-{}", self.english[rank % 97], self.english[rank])
    }

    fn text(&self, language: Language, words: usize, random: &mut Random) -> String {
        let mut text = String::new();
        for index in 0..words {
            if index > 0 {
                match language {
                    Language::English => text.push(' '),
                    Language::Chinese if random.below(5) == 0 => text.push('，'),
                    Language::Chinese => {}
                }
            }
            text.push_str(self.word(language, self.words.draw(random)));
        }
        text
    }
}

fn vocabulary(real: &str, made_up: fn(usize) -> String) -> Vec<String> {
    let mut words: Vec<String> = real.split_whitespace().map(str::to_owned).collect();
    words.extend((0..WORDS - words.len()).map(made_up));
    words
}

fn made_up_english(index: usize) -> String {
    let n = SYLLABLES.len();
    [index % n, index / n % n, index / n / n % n, (index + 7) % n].map(|at| SYLLABLES[at]).concat()
}

fn made_up_chinese(index: usize) -> String {
    let characters: Vec<char> = CHARACTERS.chars().collect();
    let n = characters.len();
    String::from_iter([characters[index % n], characters[(index / n + index) % n]])
}

/// Draws ranks so that rank `r` comes with a probability in proportion to `1 / (r + 1)`.
struct Zipf {
    cumulative: Vec<f64>,
}

impl Zipf {
    fn new(ranks: usize) -> Self {
        let mut sum = 0.0;
        let weights = (1..=ranks).map(|rank| {
            sum += 1.0 / rank as f64;
            sum
        });
        Self { cumulative: weights.collect() }
    }

    fn draw(&self, random: &mut Random) -> usize {
        let total = self.cumulative[self.cumulative.len() - 1];
        let at = (random.next() >> 11) as f64 / (1_u64 << 53) as f64 * total;
        self.cumulative.partition_point(|sum| *sum <= at).min(self.cumulative.len() - 1)
    }
}

/// The generator `SplitMix64`: a row must not depend on which other rows were made.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// Draws about normally, with mean 0 and deviation 1: as a sum of six even draws.
    pub(super) fn normal(&mut self) -> f32 {
        let even = |random: &mut Self| (random.next() >> 40) as f32 / (1_u64 << 24) as f32 - 0.5;
        (0..6).map(|_| even(self)).sum::<f32>() * std::f32::consts::SQRT_2
    }
}
