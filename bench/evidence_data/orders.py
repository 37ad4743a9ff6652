"""The history of an order service in Go and TypeScript, with Chinese messages: two sessions on one day.

Holds a revert whose subject is in Chinese, a rewritten function, a file with a Chinese name, a merged branch, two
releases, and a component that goes away after both sessions.
"""

from __future__ import annotations

from .history import History, HistoryStep, SessionWindow

__all__ = ["ORDERS"]

_SERVICE = """package order

func CreateOrder(user string, items []Item) (*Order, error) {
	return &Order{User: user, Items: items}, nil
}

func CancelOrder(id string) error {
	return store.Remove(id)
}
"""
_CALLBACK = """package pay

func HandleCallback(body []byte) error {
	notice := parse(body)
	return charge(notice.OrderID, notice.Amount)
}
"""
_CALLBACK_ONCE = """package pay

func HandleCallback(body []byte) error {
	notice := parse(body)
	if isDuplicate(notice.TransactionID) {
		return nil
	}
	return charge(notice.OrderID, notice.Amount)
}

func isDuplicate(transaction string) bool {
	return seen.Contains(transaction)
}
"""
_TIMEOUT = """package order

const timeoutMinutes = 30

func cancelExpired(now time.Time) int {
	return store.RemoveOlderThan(now.Add(-timeoutMinutes * time.Minute))
}
"""
_SYNC = '''"""库存同步。"""


def load_inventory(path):
    return path.read_text().splitlines()


def sync_stock(client, path):
    for line in load_inventory(path):
        client.put("/stock", line)
'''
_SYNC_BATCH = '''"""库存同步,一次提交一批。"""


def load_inventory(path):
    return path.read_text().splitlines()


def sync_stock_batch(client, path, size=200):
    lines = load_inventory(path)
    for start in range(0, len(lines), size):
        client.post("/stock/batch", lines[start : start + size])
'''
_SMS = """package notify

func SendSms(phone string, text string) error {
	return gateway.Post(phone, text)
}
"""
_POINTS = "package loyalty\n\nfunc RedeemPoints(user string) int {\n\treturn 0\n}\n"
_APP = "export function App() {\n  return <OrderList />;\n}\n"
_EXPORT = "export function ExportButton() {\n  return <button onClick={downloadOrders}>导出</button>;\n}\n"
_COUPON = "package coupon\n\nfunc ValidateCoupon(code string) error {\n\treturn rules.Check(code)\n}\n"
_MONEY = "package order\n\nfunc FormatMoney(cents int64) string {\n\treturn decimal(cents)\n}\n"

ORDERS = History(
    name="orders",
    sessions={
        "morning": SessionWindow(since="2026-04-15T09:00:00+08:00", until="2026-04-15T12:00:00+08:00"),
        "afternoon": SessionWindow(since="2026-04-15T14:00:00+08:00", until="2026-04-15T17:30:00+08:00"),
    },
    steps=(
        HistoryStep(
            key="start", when="2026-03-01T10:00:00+08:00", message="初始化订单服务",
            files={
                "go.mod": "module orders\n\ngo 1.21\n",
                "Makefile": "test:\n\tgo test ./...\n",
                "config/app.yaml": "port: 8080\ndatabase: orders\n",
                "internal/order/service.go": _SERVICE,
                "internal/order/utils.go": _MONEY,
                "internal/notify/sms.go": _SMS,
                "web/src/App.tsx": _APP,
                "docs/接口说明.md": "# 接口说明\n\nPOST /orders 创建订单。\n",
            },
        ),
        HistoryStep(
            key="wechat", when="2026-03-12T10:00:00+08:00", message="接入微信支付回调",
            files={"internal/pay/callback.go": _CALLBACK},
        ),
        HistoryStep(
            key="stock", when="2026-03-20T10:00:00+08:00", message="增加库存同步脚本",
            files={"scripts/sync_stock.py": _SYNC},
        ),
        HistoryStep(
            key="v20", when="2026-03-28T10:00:00+08:00", message="发布 2.0.0", tag="v2.0.0",
            files={"config/app.yaml": "port: 8080\ndatabase: orders\nversion: 2.0.0\n"},
        ),
        HistoryStep(
            key="once", when="2026-04-15T09:30:00+08:00", message="修复重复扣款:支付回调增加幂等校验",
            files={"internal/pay/callback.go": _CALLBACK_ONCE},
        ),
        HistoryStep(
            key="sms", when="2026-04-15T10:00:00+08:00", message="删除旧的短信通知",
            files={"internal/notify/sms.go": None},
        ),
        HistoryStep(
            key="timeout", when="2026-04-15T10:30:00+08:00", message="订单超时自动取消,默认 30 分钟",
            files={"internal/order/timeout.go": _TIMEOUT},
        ),
        HistoryStep(
            key="money", when="2026-04-15T11:00:00+08:00", message="utils.go 改名为 money.go,只剩金额格式化",
            moves={"internal/order/utils.go": "internal/order/money.go"},
        ),
        HistoryStep(
            key="refund", when="2026-04-15T11:20:00+08:00", message="补充退款的单元测试",
            files={"internal/pay/refund_test.go": "package pay\n\nfunc TestRefundTwice(t *testing.T) {\n}\n"},
        ),
        HistoryStep(
            key="go122", when="2026-04-15T11:40:00+08:00", message="升级 Go 到 1.22,gin 到 1.9.1",
            files={"go.mod": "module orders\n\ngo 1.22\n\nrequire github.com/gin-gonic/gin v1.9.1\n"},
        ),
        HistoryStep(
            key="untimeout", when="2026-04-15T14:10:00+08:00",
            message="回滚订单超时自动取消\n\nThis reverts commit {timeout}.\n",
            files={"internal/order/timeout.go": None},
        ),
        HistoryStep(
            key="export", when="2026-04-15T14:40:00+08:00", message="前端增加订单导出按钮",
            files={"web/src/ExportButton.tsx": _EXPORT},
        ),
        HistoryStep(
            key="batch", when="2026-04-15T15:20:00+08:00", message="重构库存同步,改为批量接口",
            files={"scripts/sync_stock.py": _SYNC_BATCH},
        ),
        HistoryStep(
            key="coupon", when="2026-04-15T15:30:00+08:00", branch="feature/coupon", message="新增优惠券校验",
            files={"internal/coupon/validate.go": _COUPON},
        ),
        HistoryStep(
            key="merge", when="2026-04-15T16:00:00+08:00", message="合并分支 feature/coupon", merge="feature/coupon",
            files={"internal/coupon/validate.go": _COUPON},
        ),
        HistoryStep(
            key="loyalty", when="2026-04-15T16:20:00+08:00", branch="feature/loyalty", message="积分兑换初稿",
            files={"internal/loyalty/points.go": _POINTS},
        ),
        HistoryStep(
            key="v21", when="2026-04-15T16:30:00+08:00", message="发布 2.1.0", tag="v2.1.0",
            files={"config/app.yaml": "port: 8080\ndatabase: orders\nversion: 2.1.0\n"},
        ),
        HistoryStep(
            key="later", when="2026-04-20T10:00:00+08:00", message="导出改到后台,去掉前端按钮",
            files={
                "web/src/ExportButton.tsx": None,
                "internal/export/job.go": "package export\n\nfunc RunExport() error {\n\treturn nil\n}\n",
            },
        ),
    ),
)  # fmt: skip
